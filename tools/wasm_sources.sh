#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# wasm_sources.sh [DIRECTORY]: checks that the modules of web/prebuilt were built from the current sources.
set -eu
cd "${1:-$(dirname "$0")/..}"
[ "$(wc -l <web/prebuilt/SHA256SUMS)" -gt 50 ] || { echo "web/prebuilt/SHA256SUMS has too few lines"; exit 1; }
sha256sum --quiet -c web/prebuilt/SHA256SUMS || {
    echo "web/prebuilt was built from other sources: run ./dev wasm and commit web/prebuilt"
    exit 1
}
