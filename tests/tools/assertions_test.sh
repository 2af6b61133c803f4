#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# The assertion check must count assertions, and must fail if there are too few.
set -eu
check=$(cd "$(dirname "$0")/../../tools" && pwd)/check_assertions.py
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
module() { # NAME ASSERTIONS LINES
    mkdir -p "src/$1"
    {
        for i in $(seq "$2"); do echo "PURVIEW_ASSERT(a == $i);"; done
        for i in $(seq "$3"); do echo "int a$i = 0;  // PURVIEW_ASSERT(not one)"; done
        echo '// only a comment'
        echo
    } >"src/$1/one.cpp"
}
expect() { # EXIT_CODE TEXT WHAT
    code=0
    out=$(python3 "$check" src --list 2>&1) || code=$?
    [ "$code" = "$1" ] || { echo "FAILED: ends with $code, expected $1: $3: $out"; exit 1; }
    case "$out" in *"$2"*) ;; *) echo "FAILED: '$2' is not in '$out': $3"; exit 1 ;; esac
}
for name in interest world replication server client; do module "$name" 15 985; done
expect 0 "src/world: 15 assertions in 1000 lines, 15.0 per 1,000" "exactly the minimum"
module world 14 986
expect 1 "src/world: at least 15" "one too few"
echo passed
