#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# help_text.sh NAME BUILD_DIRECTORY: prints the help of a program in the form of docs/help/NAME.txt. Used by ./dev NAME
# --help and docs/command-line.md. Only the help of the demo ends with the examples of `purview`.
set -eu
build=$2
case "$1" in
    serve | bots | explain | rules | replay)
        "$build/purview" "$1" --help | sed "s|$build/purview|purview|; s| *\$||" |
            awk '/^Examples:/ { exit } NF { for (; blank > 0; --blank) print ""; print; next } { ++blank }'
        exit
        ;;
    demo) "$build/purview" demo --help ;;
    sim) "$build/sim/purview_sim" --help ;;
    bench-*) "$build/bench/purview_bench_${1#bench-}" --help ;;
    *) echo "help_text.sh: unknown program: $1" >&2; exit 2 ;;
esac | sed "s|$build/[a-z_/]*\\( demo\\)\\{0,1\\}|./dev $(echo "$1" | tr - ' ')|; s| *\$||"
