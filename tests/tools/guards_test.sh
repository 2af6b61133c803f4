#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# guards_test.sh COMPILER FILE...: a guard (a security check of docs/guards.md) must compile to its condition alone. No
# FILE may come from a build with a removed guard. The search for such a build must find one.
set -eu
compiler=$1
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
    echo "FAILED: $*"
    exit 1
}

cat >"$dir/guard.cpp" <<'CPP'
#include "core/mutate.hpp"
int left, right, open;
bool guard() { return PURVIEW_GUARD(seal, left <= right); }
int bound() { return PURVIEW_GUARD_OR(budget, left, open); }
CPP
plain=$("$compiler" -std=c++20 -I"$root/src" -E -P "$dir/guard.cpp" | grep '[^ ]')
[ "$plain" = 'int left, right, open;
bool guard() { return (left <= right); }
int bound() { return (left); }' ] || fail "a guard is more than its condition: $plain"

marker=purview_mutated_build
has_marker() { grep -q -a "$marker" "$1"; }
"$compiler" -std=c++20 -I"$root/src" -DPURVIEW_MUTATE=seal -c "$dir/guard.cpp" -o "$dir/guard.o"
has_marker "$dir/guard.o" || fail "a build without a guard is not recognized"
"$compiler" -std=c++20 -I"$root/src" -c "$dir/guard.cpp" -o "$dir/guard.o"
has_marker "$dir/guard.o" && fail "a build with all guards is reported as mutated"
for file in "$@"; do
    [ -s "$file" ] || fail "no $file"
    has_marker "$file" && fail "$file is a build without a guard"
done
# No other file uses the switch.
found=$(cd "$root" && grep -rlE 'PURVIEW_(IS_)?MUTATE' --include=CMakeLists.txt --include='*.cmake' --include='*.[ch]pp' \
    --include='*.json' CMakeLists.txt CMakePresets.json cmake src include apps sim bench fuzz tests examples games packaging) || true
[ "$found" = src/core/mutate.hpp ] || fail "PURVIEW_MUTATE is used in: $found"
cd "$root"
python3 tools/mutate.py --list || fail "docs/guards.md and the sources list different guards"

# Each guard has one place in the source and one row in docs/guards.md, so that each place is tested on its own.
mkdir -p "$dir/tree/docs" "$dir/tree/src" "$dir/tree/include" "$dir/tree/tests/link"
cd "$dir/tree"
echo 'TEST_CASE("other clients are refused") {}' >tests/link/seal_test.cpp
row='| `seal` | `src/seal.cpp` | damaged bytes | other clients are refused |'
place='bool is_sealed() { return PURVIEW_GUARD(seal, left <= right); }'
lists() {
    python3 "$root/tools/mutate.py" --list
}
echo "$row" >docs/guards.md
echo "$place" >src/seal.cpp
lists || fail "a guard at one place is refused"
printf '%s\n' "$place" "$place" >src/seal.cpp
lists && fail "a guard at two places of a file is accepted"
echo "$place" >src/seal.cpp
echo "$place" >src/other.cpp
lists && fail "a guard in two files is accepted"
rm src/other.cpp
printf '%s\n' "$row" "$row" >docs/guards.md
lists && fail "a guard with two rows is accepted"
echo passed
