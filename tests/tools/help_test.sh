#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# help_test.sh BUILD_DIRECTORY: ./dev NAME --help prints docs/help/NAME.txt without installing or building, and the
# program prints the same. Differences between CLI11 releases do not count: spaces, capitals, and the form of
# defaults ("=5" or " [5]").
set -eu
build=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$root"
words() { sed 's/=\([^ ]*\)/ [\1]/' | tr -s ' \n' '\n\n' | tr '[:upper:]' '[:lower:]' | grep -v '^$'; }
compared=0
for file in docs/help/*.txt; do
    name=$(basename "$file" .txt)
    [ -s "$file" ] || { echo "FAILED: $file is empty"; exit 1; }
    case "$name" in
        bench-*)
            # Built only by ./dev bench.
            [ -x "$build/bench/purview_bench_${name#bench-}" ] || continue ;;
    esac
    sh tools/help_text.sh "$name" "$build" | words >"$dir/program"
    words <"$file" >"$dir/file"
    diff "$dir/file" "$dir/program" || { echo "FAILED: $file differs from what the program prints; run ./dev help --write"; exit 1; }
    compared=$((compared + 1))
done
[ $compared -ge 2 ] || { echo "FAILED: only $compared texts compared"; exit 1; }

# In a copy without a build, with shell tools only, nothing is built.
mkdir -p "$dir/tree" "$dir/bin"
cp -r dev docs packaging tools "$dir/tree/"
for tool in sh cat dirname; do ln -s "$(command -v $tool)" "$dir/bin/$tool"; done
(
    cd "$dir/tree"
    for command in demo sim "bench interest" "bench replication" "bench groups"; do
        # shellcheck disable=SC2086
        PATH=$dir/bin ./dev $command --help >"$dir/out" || { echo "FAILED: ./dev $command --help"; exit 1; }
        cmp "$dir/out" "docs/help/$(echo "$command" | tr ' ' -).txt"
    done
    for command in test bench check fuzz wasm fresh; do
        PATH=$dir/bin ./dev $command --help >"$dir/out" || { echo "FAILED: ./dev $command --help"; exit 1; }
        [ -s "$dir/out" ] || { echo "FAILED: ./dev $command --help prints nothing"; exit 1; }
    done
    [ ! -e build ] || { echo "FAILED: help made build/"; exit 1; }
)
echo passed
