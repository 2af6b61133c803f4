#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# tests_test.sh: the check of test files must report sources without a test.
set -eu
check=$(cd "$(dirname "$0")/../../tools" && pwd)/check_tests.py
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
begin() { # a source with logic in a nested folder
    rm -rf src tests tools
    mkdir -p src/link/parts tests/link/parts tools
    echo 'int half(int a) { return a < 0 ? 0 : a / 2; }' >src/link/parts/a.cpp
}
expect() { # EXIT_CODE TEXT WHAT
    code=0
    out=$(python3 "$check" 2>&1) || code=$?
    [ "$code" = "$1" ] || { echo "FAILED: ends with $code, expected $1: $3"; exit 1; }
    case "$out" in *"$2"*) ;; *) echo "FAILED: '$2' is not in '$out': $3"; exit 1 ;; esac
}
begin
expect 1 "add tests/link/parts/a_test.cpp" "a source without a test"
touch tests/link/a_test.cpp tests/link/parts/b_test.cpp
expect 1 "add tests/link/parts/a_test.cpp" "a test in another folder or with another name"
touch tests/link/parts/a_test.cpp
expect 0 "" "a source with its test"
begin
printf '# why\n\nsrc/link/parts/a.cpp\n' >tools/tests_missing.txt
expect 0 "" "a source without a test, in the list"
printf 'src/link/parts/a.cpp\nsrc/link/parts/a.cpp\n' >tools/tests_missing.txt
expect 1 "is listed twice" "a duplicate entry"
echo src/link/parts/a.cpp >tools/tests_missing.txt
touch tests/link/parts/a_test.cpp
expect 1 "has a test" "an entry with an existing test"
begin
touch tests/link/parts/a_test.cpp
echo src/link/parts/gone.cpp >tools/tests_missing.txt
expect 1 "does not exist" "an entry without a source"
begin
printf '%s\n' '#include "a.hpp"' '#if 1' '// if it is so?' 'const char* name() { return "if?"; }' '#endif' >src/link/parts/a.cpp
expect 0 "" "a source without logic"
echo src/link/parts/a.cpp >tools/tests_missing.txt
expect 1 "needs no test" "an entry of a source without logic"
rm -r src
expect 1 "no sources in src" "a folder without sources"
echo passed
