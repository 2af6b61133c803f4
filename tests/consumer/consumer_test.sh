#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# consumer_test.sh BUILD_DIRECTORY [--whole]: installs the built library and uses it from an external project, which is
# compiled with -ffast-math. Also adds the library to that project as a subdirectory and checks its compile commands.
# --whole also builds the library there.
set -eu
build=$1
whole=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cmake --install "$build" --prefix "$dir/prefix" >"$dir/log" || { cat "$dir/log"; exit 1; }
for method in find_package add_subdirectory; do
    cmake -S "$here/$method" -B "$dir/$method" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DCMAKE_CXX_FLAGS=-ffast-math -DCMAKE_PREFIX_PATH="$dir/prefix" \
        -DPURVIEW_SOURCE="$here/../.." -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
    if [ $method = add_subdirectory ]; then
        grep '"command"' "$dir/$method/compile_commands.json" | grep -v ' consumer.cpp\|/consumer.cpp' >"$dir/commands"
        [ "$(wc -l <"$dir/commands")" -ge 20 ] || { echo "FAILED: the library has too few sources"; exit 1; }
        if grep -v -e '-ffast-math .*-fno-fast-math' "$dir/commands"; then echo "FAILED: compiled with -ffast-math"; exit 1; fi
        [ -n "$whole" ] || continue
    fi
    cmake --build "$dir/$method" --target consumer >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
    "$dir/$method/consumer" || { echo "FAILED: $method"; exit 1; }
done
# Builds and runs a server and a client of 40 lines each with the installed purview::net. The client's entity must move.
if [ -f "$dir/prefix/include/purview/net/server_loop.hpp" ] && [ -n "$(find "$dir/prefix" -name 'libpurview_net.a')" ]; then
    cmake --build "$dir/find_package" --target hello_server hello_client >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
    "$dir/find_package/hello_server" 4 >"$dir/server.out" 2>&1 &
    server=$!
    timeout 3 stdbuf -oL "$dir/find_package/hello_client" >"$dir/client.out" 2>&1 || true
    wait $server || true
    if grep -q 'in use' "$dir/server.out"; then
        echo "port 7777 is in use: hello_server was built but not run"
    elif ! grep -q 'ghost 0 entered' "$dir/client.out" || [ "$(grep -c 'ghost 0 is at 5' "$dir/client.out")" -lt 10 ]; then
        echo "FAILED: the hello client receives nothing"
        cat "$dir/server.out" "$dir/client.out"
        exit 1
    fi
fi
# A game may have CMake modules with the same names as Purview's. It installs only its own files.
cmake -S "$here/add_subdirectory" -B "$dir/apps" -G Ninja -DPURVIEW_BUILD_APPS=ON \
    -DPURVIEW_SOURCE="$here/../.." >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
if grep 'file(INSTALL' "$dir/apps/purview/cmake_install.cmake"; then echo "FAILED: a game installs Purview"; exit 1; fi
# A shared library that contains the whole archive exports the C interface to other languages.
c++ -shared -o "$dir/client.so" -Wl,--whole-archive "$(find "$dir/prefix" -name libpurview.a)" -Wl,--no-whole-archive -lhwy
nm -D --defined-only "$dir/client.so" >"$dir/names"
names=$(grep -o 'pv_client_[a-z_]*(' "$dir/prefix/include/purview.h" | tr -d '(')
[ -n "$names" ] || { echo "FAILED: no names in purview.h"; exit 1; }
for name in $names; do
    grep -q " $name\$" "$dir/names" || { echo "FAILED: a shared library lacks $name"; exit 1; }
done
echo passed
