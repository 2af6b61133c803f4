#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# The layer check must report includes that violate the layer order.
set -eu
check=$(cd "$(dirname "$0")/../../tools" && pwd)/check_layers.py
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
write() { # FILE LINE
    mkdir -p "$(dirname "$1")"
    printf '%s\n' "$2" >"$1"
}
expect() { # WHAT FILE LINE [FILE LINE]
    wanted=$1
    what="$2: $3"
    mkdir -p src include games
    write "$2" "$3"
    [ $# -le 3 ] || write "$4" "$5"
    if python3 "$check" src include games >/dev/null 2>&1; then found=no; else found=yes; fi
    rm -r src include games
    [ "$found" = "$wanted" ] || { echo "FAILED: found=$found, expected $wanted, for $what"; exit 1; }
}
expect yes src/core/a.hpp '#include "interest/b.hpp"'
expect yes src/world/a.cpp '#include "replication/b.hpp"'
expect yes src/oracle/a.cpp '#include "interest/rules/b.hpp"'
expect yes src/replication/a.cpp '#include "spatial/b.hpp"'
expect yes src/replication/a.cpp '#include "client/b.hpp"'
expect yes src/client/a.cpp '#include "purview/server.hpp"'
expect yes src/client/a.cpp '#include "replication/b.hpp"'
expect yes src/link/a.hpp '#include "purview/server.hpp"'
expect yes src/core/a.hpp '#include "purview/world.hpp"'
expect yes include/purview/client.hpp '#include "purview/server.hpp"'
expect yes include/purview/status.hpp '#include "core/a.hpp"'
expect yes include/purview/attic.hpp 'int x;'
expect yes src/interest/windows/a.cpp '#include "interest/queries/b.hpp"'
expect yes src/interest/events/a.cpp '#include "interest/b.hpp"'
expect yes src/net/a.cpp '#include "purview/interest.hpp"'
expect yes games/vale/a.cpp '#include "world/b.hpp"'
expect yes src/interest/a.cpp '#include <thread>'
expect yes src/interest/rules/a.cpp '#include <thread>'
expect yes src/server/a.cpp '#include <sys/socket.h>'
expect yes src/attic/a.cpp 'int x;'
# Each include is allowed, but together they violate the order.
expect yes src/client/a.cpp '#include "purview/client.hpp"' include/purview/client.hpp '#include "purview/rules.hpp"'
expect yes src/client/a.cpp '#include "link/b.hpp"' src/link/b.hpp '#include "world/c.hpp"'
expect no src/interest/a.cpp '#include "spatial/b.hpp"'
expect no src/interest/rules/a.cpp '#include "spatial/b.hpp"'
expect no src/client/a.cpp '#include "protocol/b.hpp"' src/protocol/b.hpp '#include "core/c.hpp"'
expect no games/vale/a.cpp '#include "purview/world.hpp"'
expect no src/net/a.cpp '#include <sys/socket.h>'
echo passed
