#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# tools/check_words.py counts the words that the glossary replaces in comments, documents, messages and test names,
# and nothing else.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
git init -q .
fail() { echo "FAILED: $*"; exit 1; }
# count EXPECTED FILE TEXT: a file with this text must have this number of replaced words.
count() {
    printf '%b' "$3" >"$2"
    git add "$2"
    python3 "$root/tools/check_words.py" >out || true
    grep -q ", $1 that the glossary replaces" out || fail "$2 with '$3': $(head -n 1 out), not $1"
    git rm -q --cached "$2"
    rm "$2"
}
bad=told
count 1 a.cpp "// The client is $bad about it.\\nint $bad = 0;\\n"
count 1 a.cpp "/* It is $bad\\n */ int a;\\n"
count 1 a.cpp "TEST_CASE(\"client: it is $bad once\") {}\\n"
count 0 a.cpp "const char* key = \"$bad\";\\nint x = $bad();\\n"
count 1 a.cpp "const char* text = \"it was $bad nothing\";\\n"
count 0 a.cpp "// The field \`$bad\` has bits.\\n"
count 1 a.py "x = $bad  # it was $bad\\n"
count 0 a.sh "echo $bad\\n"
count 1 a.md "It was $bad, and \`$bad\` is code.\\n\\n\`\`\`\\n$bad\\n\`\`\`\\n"
count 0 a.json "{\"a\": \"it was $bad nothing\"}\\n"
# A rate above the limit fails; a rate below passes.
{ printf '# '; yes plain | head -n 400 | tr '\n' ' '; echo; } >a.sh
git add a.sh
python3 "$root/tools/check_words.py" >out || fail "plain text: $(cat out)"
printf '# %s %s %s\n' $bad $bad $bad >>a.sh
! python3 "$root/tools/check_words.py" >out || fail "three words in 400 passed"
grep -q '^a.sh: ' out || fail "the file is not named: $(cat out)"
echo passed
