#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
set -eu
cd "$(dirname "$0")/../.."
made=$(mktemp)
trap 'rm -f "$made"' EXIT
python3 worlds/vale/make_vale.py "$made"
cmp "$made" worlds/vale/vale.json
echo passed
