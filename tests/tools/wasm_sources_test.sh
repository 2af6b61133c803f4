#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# wasm_sources_test.sh: the check must report a source or a module that changed after the build or is missing.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$root"
for needed in src/capi/client_c.cpp games/vale/pilot.cpp include/purview.h cmake/wasm.cmake web/prebuilt/vale_client.wasm; do
    grep -q "  $needed\$" web/prebuilt/SHA256SUMS || { echo "FAILED: web/prebuilt/SHA256SUMS lacks $needed"; exit 1; }
done
copy() {
    rm -rf "$dir/tree"
    mkdir "$dir/tree"
    sed 's/^[0-9a-f]*  //' web/prebuilt/SHA256SUMS | tar -c -T - web/prebuilt/SHA256SUMS | tar -x -C "$dir/tree"
    (cd "$dir/tree" && sed 's/^[0-9a-f]*  //' web/prebuilt/SHA256SUMS | xargs sha256sum >"$dir/sums" && mv "$dir/sums" web/prebuilt/SHA256SUMS)
}
check() { sh tools/wasm_sources.sh "$dir/tree" >/dev/null 2>&1; }
copy
check || { echo "FAILED: an unchanged tree"; exit 1; }
echo >>"$dir/tree/src/capi/client_c.cpp"
if check; then echo "FAILED: a source changed"; exit 1; fi
copy
printf x >>"$dir/tree/web/prebuilt/vale_client.wasm"
if check; then echo "FAILED: a module changed"; exit 1; fi
copy
rm "$dir/tree/include/purview.h"
if check; then echo "FAILED: a source is gone"; exit 1; fi
copy
: >"$dir/tree/web/prebuilt/SHA256SUMS"
if check; then echo "FAILED: nothing is compared"; exit 1; fi
echo passed
