#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# Checks that every public header compiles alone with g++, with clang 14, and for WebAssembly, without exceptions and
# RTTI; and the C header as C99.
set -eu
cd "$(dirname "$0")/.."
strict="-Wall -Wextra -Wpedantic -Werror -fno-exceptions -fno-rtti -fsyntax-only -Iinclude -x c++ -std=c++20"
export strict
for header in include/purview/*.hpp include/purview/extend/*.hpp; do
    for compiler in g++ clang++-14 "clang++-14 --target=wasm32-wasi"; do
        printf '%s\n%s\n' "${header#include/purview/}" "$compiler"
    done
done | xargs -d '\n' -n 2 -P "$(nproc)" sh -c '
    printf "#include \"purview/%s\"\n" "$1" | $2 $strict - ||
        { echo "purview/$1 does not compile alone with $2"; exit 255; }' alone
for compiler in gcc clang-14; do
    printf '#include "purview.h"\n' | $compiler -std=c99 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude -x c - ||
        { echo "purview.h does not compile as C99 with $compiler"; exit 1; }
done
