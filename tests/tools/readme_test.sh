#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# readme_test.sh BUILD_DIRECTORY: the C++ sample of the README compiles, runs and prints the documented output. It
# has at most 25 lines.
set -eu
build=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
awk '/^```cpp$/ { on = 1; next } /^```$/ { if (on) exit } on' "$root/README.md" >"$dir/sample.cpp"
lines=$(wc -l <"$dir/sample.cpp")
[ "$lines" -ge 10 ] && [ "$lines" -le 25 ] || { echo "FAILED: the sample has $lines lines"; exit 1; }
c++ -std=c++20 -Wall -Wextra -Werror -I"$root/include" "$dir/sample.cpp" "$build/libpurview.a" -lhwy -o "$dir/sample"
"$dir/sample" >"$dir/out"
expected=$(sed -n 's/^Prints: `\(.*\)`$/\1/p' "$root/README.md")
[ "$(cat "$dir/out")" = "$expected" ] || { echo "FAILED: printed '$(cat "$dir/out")', the README has '$expected'"; exit 1; }
echo passed
