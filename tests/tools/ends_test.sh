#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# ends_test.sh CODE TEXT PROGRAM ARGUMENT...: a program must end with this exit code and print this text.
set -eu
expected=$1
text=$2
shift 2
code=0
output=$("$@" 2>&1) || code=$?
echo "$output"
[ "$code" = "$expected" ] || { echo "FAILED: it ended with $code, not $expected"; exit 1; }
echo "$output" | grep -qF -- "$text" || { echo "FAILED: the output lacks: $text"; exit 1; }
echo passed
