#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# ends_test.sh CODE TEXT PROGRAM ARGUMENT...: a program ends with this exit code, and says this.
set -eu
expected=$1
text=$2
shift 2
code=0
said=$("$@" 2>&1) || code=$?
echo "$said"
[ "$code" = "$expected" ] || { echo "FAILED: it ended with $code, not $expected"; exit 1; }
echo "$said" | grep -qF -- "$text" || { echo "FAILED: it does not say: $text"; exit 1; }
echo passed
