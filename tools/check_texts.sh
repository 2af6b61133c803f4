#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# Small promises that a machine can keep: licence lines, no forgotten marks, no line of someone's disk.
set -eu
bad=0
for file in $(git ls-files '*.hpp' '*.cpp' '*.h' '*.mjs' '*.sh' '*.py' '*.css' dev); do
    if ! head -n 6 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0'; then
        echo "$file: no SPDX line at its head"
        bad=1
    fi
done
mark='\bFIX''ME\b\|\bXX''X\b'
if git ls-files '*.hpp' '*.cpp' '*.h' '*.mjs' '*.sh' '*.py' '*.md' '*.txt' | xargs grep -n "$mark" /dev/null; then
    echo 'forgotten marks'
    bad=1
fi
exit $bad
