#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# The layer check must find what it is there to find.
set -eu
check=$(cd "$(dirname "$0")/../../tools" && pwd)/check_layers.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
expect() { # WHAT FILE LINE
    mkdir -p "$(dirname "$2")"
    printf '%s\n' "$3" >"$2"
    if sh "$check" src games >/dev/null 2>&1; then found=no; else found=yes; fi
    rm -r src games
    mkdir -p src games
    [ "$found" = "$1" ] || { echo "FAILED: found=$found, expected $1, for $2: $3"; exit 1; }
}
mkdir -p src games
expect yes src/core/a.hpp '#include "interest/b.hpp"'
expect yes src/world/a.cpp '#include "replication/b.hpp"'
expect yes src/check/a.cpp '#include "interest/b.hpp"'
expect yes src/replication/a.cpp '#include "spatial/b.hpp"'
expect yes games/vale/a.cpp '#include "world/b.hpp"'
expect yes src/interest/a.cpp '#include <thread>'
expect yes src/host/a.cpp '#include <sys/socket.h>'
expect yes src/attic/a.cpp 'int x;'
expect no src/interest/a.cpp '#include "spatial/b.hpp"'
expect no games/vale/a.cpp '#include "purview/world.hpp"'
expect no src/net/a.cpp '#include <sys/socket.h>'
echo passed
