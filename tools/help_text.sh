#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# help_text.sh NAME BUILD_DIRECTORY: prints the help of a program, as docs/help/NAME.txt has it for ./dev NAME --help.
set -eu
build=$2
case "$1" in
    demo) "$build/purview" demo --help ;;
    sim) "$build/sim/purview_sim" --help ;;
    bench-*) "$build/bench/purview_bench_${1#bench-}" --help ;;
    *) echo "no help of $1" >&2; exit 2 ;;
esac | sed "s|$build/[a-z_/]*\\( demo\\)\\{0,1\\}|./dev $(echo "$1" | tr - ' ')|; s| *\$||"
