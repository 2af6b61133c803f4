#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# The class check must report classes with more than 40 fields or 60 methods.
set -eu
check=$(cd "$(dirname "$0")/../../tools" && pwd)/check_classes.py
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir -p src tools
class() { # FIELDS METHODS
    {
        echo 'namespace purview { class Wide { public:'
        for i in $(seq "$2"); do echo "    void method$i(int value) const;"; done
        echo '    void method1(float value) const {}' # an overload
        echo '  private:'
        for i in $(seq "$1"); do echo "    int field${i}_ = 0;"; done
        echo '};'
        echo 'inline void Wide::method1(int) const {} }' # counted only in its class
    } >src/wide.hpp
}
expect() { # EXIT_CODE TEXT WHAT
    code=0
    out=$(python3 "$check" src 2>&1) || code=$?
    [ "$code" != 77 ] || { echo "$out"; exit 0; }
    [ "$code" = "$1" ] || { echo "FAILED: ends with $code, expected $1: $3: $out"; exit 1; }
    case "$out" in *"$2"*) ;; *) echo "FAILED: '$2' is not in '$out': $3"; exit 1 ;; esac
}
touch tools/classes_large.txt
class 40 59
expect 0 "" "40 fields and 60 methods"
class 41 59
expect 1 "Wide has 41 fields and 60 methods" "a field too many"
class 40 60
expect 1 "Wide has 40 fields and 61 methods" "a method too many"
echo 'Wide 41 61' >tools/classes_large.txt
expect 1 "has shrunk: change its line in tools/classes_large.txt to 40 61" "a line that is too large"
echo 'Wide 40 61' >tools/classes_large.txt
expect 0 "" "an exception"
class 41 60
expect 1 "at most 40 and 61" "an exception that grows"
class 40 59
expect 1 "no longer needs its line" "an exception that is not needed"
echo passed
