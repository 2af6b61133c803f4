#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# consumer_test.sh BUILD_DIRECTORY: installs the built library and uses it as a stranger would, whose own
# code is compiled with -ffast-math.
set -eu
build=$1
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cmake --install "$build" --prefix "$dir/prefix" >"$dir/log" || { cat "$dir/log"; exit 1; }
for way in find_package add_subdirectory; do
    cmake -S "$here/$way" -B "$dir/$way" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DCMAKE_CXX_FLAGS=-ffast-math -DCMAKE_PREFIX_PATH="$dir/prefix" \
        -DPURVIEW_SOURCE="$here/../.." >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
    cmake --build "$dir/$way" --target consumer >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
    "$dir/$way/consumer" || { echo "FAILED: $way"; exit 1; }
done
# A game may have modules of the names of ours, and what it installs is its own.
cmake -S "$here/add_subdirectory" -B "$dir/apps" -G Ninja -DPURVIEW_BUILD_APPS=ON \
    -DPURVIEW_SOURCE="$here/../.." >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
if grep 'file(INSTALL' "$dir/apps/purview/cmake_install.cmake"; then echo "FAILED: a game installs Purview"; exit 1; fi
# What is linked whole into a shared library is there for other languages.
c++ -shared -o "$dir/client.so" -Wl,--whole-archive "$(find "$dir/prefix" -name libpurview.a)" -Wl,--no-whole-archive -lhwy
nm -D --defined-only "$dir/client.so" >"$dir/names"
names=$(grep -o 'pv_client_[a-z_]*(' "$dir/prefix/include/purview.h" | tr -d '(')
[ -n "$names" ] || { echo "FAILED: no names in purview.h"; exit 1; }
for name in $names; do
    grep -q " $name\$" "$dir/names" || { echo "FAILED: a shared library lacks $name"; exit 1; }
done
echo passed
