#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# wasm.sh [--check]: builds the client modules into web/prebuilt, with SHA256SUMS and PROVENANCE.md. --check writes
# nothing: the built modules must be identical to web/prebuilt, and clang must be the pinned version.
set -eu
cd "$(dirname "$0")/.."
check=${1:-}
pinned=14
tree=build/wasm
modules="purview_client.wasm vale_client.wasm"

cmake --preset wasm >"$tree.log" 2>&1 || { cat "$tree.log"; exit 1; }
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' $tree/CMakeCache.txt)
[ -n "$compiler" ] || compiler=$(sed -n 's/^PURVIEW_CLANG:[A-Z]*=//p' $tree/CMakeCache.txt)
version=$("$compiler" --version | head -n 1)
major=$("$compiler" -dumpversion | cut -d. -f1)
if [ "$check" = --check ] && [ "$major" != $pinned ]; then
    echo "the modules need clang $pinned; found: $version" >&2
    exit 1
fi
cmake --build $tree >"$tree.log" 2>&1 || { cat "$tree.log"; exit 1; }

if [ "$check" = --check ]; then
    for module in $modules; do
        cmp "$tree/$module" "web/prebuilt/$module" || {
            echo "web/prebuilt/$module differs from a build of these sources: run ./dev wasm" >&2
            exit 1
        }
    done
    sh tools/wasm_sources.sh
    echo "web/prebuilt is identical to a build of these sources"
    exit 0
fi

[ "$major" = $pinned ] ||
    echo "note: clang $major instead of the pinned $pinned: ./dev wasm --check will find differences" >&2
mkdir -p web/prebuilt
for module in $modules; do install -m 644 "$tree/$module" web/prebuilt/; done
# All sources of this project that the compiler read, and the files that define its command line.
root=$(pwd -P)
{
    ninja -C $tree -t deps | sed -n "s/^    //p" | while read -r file; do
        case "$file" in
            /*) printf '%s\n' "$file" ;;
            *) printf '%s/%s/%s\n' "$root" "$tree" "$file" ;;
        esac
    done | sort -u | xargs realpath | sed -n "s|^$root/||p" | grep -v '^build/'
    printf '%s\n' cmake/find_clang.cmake cmake/wasm.cmake cmake/purview_options.cmake cmake/purview_wasm.cmake
    for module in $modules; do printf 'web/prebuilt/%s\n' "$module"; done
} | LC_ALL=C sort -u >"$tree.sources"
xargs sha256sum <"$tree.sources" >web/prebuilt/SHA256SUMS
packages=
if command -v dpkg-query >/dev/null 2>&1; then
    packages=$(dpkg-query -W -f '${Package} ${Version}\n' "clang-$major" "lld-$major" wasi-libc "libc++-$major-dev-wasm32" "libclang-rt-$major-dev-wasm32" 2>/dev/null || true)
fi
cat >web/prebuilt/PROVENANCE.md <<MD
# Where these modules come from

\`./dev wasm\` built them from the sources of this repository; \`SHA256SUMS\` has the hash of each source that the compiler
read, of the files that define its command line, and of the modules. \`./dev wasm --check\` builds them again and compares
every byte; CI does so. A test fails if the hash of a source differs.

\`\`\`
$version
$packages
\`\`\`
MD
for module in $modules; do
    printf '%s: %s bytes\n' "$module" "$(wc -c <"web/prebuilt/$module")"
done
