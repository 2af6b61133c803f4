#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# Checks that all files have a license line, that no reminder marks are left, and that public headers do not return
# private data.
set -eu
bad=0
for file in $(git ls-files '*.hpp' '*.cpp' '*.h' '*.mjs' '*.sh' '*.py' '*.css' dev); do
    if ! head -n 6 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0'; then
        echo "$file: no SPDX line in its first six lines"
        bad=1
    fi
done
mark='\bFIX''ME\b\|\bXX''X\b'
if git ls-files '*.hpp' '*.cpp' '*.h' '*.mjs' '*.sh' '*.py' '*.md' '*.txt' | xargs grep -n "$mark" /dev/null; then
    echo 'reminder marks are left: resolve them'
    bad=1
fi
# Internal code reaches private data through src/core/internal_access.hpp only.
if grep -nE '\b[A-Za-z]*(Data|Engine)(&|\*) *[a-z_]+\(' include/purview/*.hpp include/purview/*/*.hpp; then
    echo 'a public header returns private data'
    bad=1
fi
exit $bad
