#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# scripts_test.sh: the check must report each line of the first block, and no line of the second block.
set -eu
check=$(cd "$(dirname "$0")/../.." && pwd)/tools/check_scripts.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
while IFS= read -r line; do
    printf '%s\n' "$line" >"$dir/a.mjs"
    if sh "$check" "$dir" >/dev/null; then echo "FAILED: not found: $line"; exit 1; fi
done <<'LINES'
const b = sides.with(1, 2);
rows.toSorted((a, b) => a - b)
Object.groupBy(rows, (row) => row.kind)
const { promise } = Promise.withResolvers();
performance.now = () => now;
globalThis.crypto = webcrypto;
const names = map.keys().map((key) => key);
const here = import.meta.dirname;
LINES
cat >"$dir/a.mjs" <<'LINES'
globalThis.crypto ??= webcrypto;
const end = performance.now() + 5;
const names = [...map.keys()].map((key) => key);
const last = rows.at(-1), copy = structuredClone(rows), isThere = Object.hasOwn(rows, "a");
// sides.with(1, 2) is newer
LINES
sh "$check" "$dir" || { echo "FAILED: reports code that Node 18 can run"; exit 1; }
echo passed
