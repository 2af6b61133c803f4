#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# check_layers.sh DIR...: fails when an include runs against tools/layers.txt. Rooms are src/ROOM,
# games/NAME and apps/NAME; a quoted include "room/file.hpp" names the room it goes to. The core
# library also may not include <iostream>, <thread>, <mutex> or anything of the system.
set -eu
rules=$(dirname "$0")/layers.txt
bad=$(find "$@" \( -name '*.hpp' -o -name '*.cpp' -o -name '*.h' \) -print | LC_ALL=C sort | xargs awk -v rules="$rules" '
    BEGIN {
        while ((getline line < rules) > 0) {
            if (line ~ /^#/ || line == "") continue
            split(line, part, ":")
            room = part[1]
            known[room] = 1
            count = split(part[2], names, " ")
            for (i = 1; i <= count; ++i) allowed[room, names[i]] = 1
        }
        split("core wire world spatial interest replication prediction link host check capi", list, " ")
        for (i in list) sans_io[list[i]] = 1
    }
    function room_of(path,   n, part, i) {
        n = split(path, part, "/")
        for (i = 1; i < n; ++i) {
            if (part[i] == "src") return part[i + 1]
            if (part[i] == "games" || part[i] == "apps") return part[i] "/" part[i + 1]
            if (part[i] == "include") return "include"
        }
        return "?"
    }
    FNR == 1 { room = room_of(FILENAME) }
    /^#include "/ {
        split($0, quoted, "\"")
        target = quoted[2]
        if (target ~ /^purview\// || target == "purview.h") next
        to = target
        if (!sub(/\/.*/, "", to)) {
            if (room == "games/vale" || room == "apps/purview") next   # a neighbour, or the game
            print FILENAME ":" FNR ": \"" target "\" names no room"
            next
        }
        if (room == "include" || (to != room && !((room, to) in allowed))) print FILENAME ":" FNR ": " room " may not include " to " (" target ")"
        next
    }
    /^#include </ && (room in sans_io || room == "include") {
        if ($0 ~ /<(iostream|fstream|thread|mutex|condition_variable|filesystem|chrono|random|execution|format|expected|source_location|memory_resource)>/ ||
            $0 ~ /<(sys\/|unistd|fcntl|boost|nlohmann|toml|spdlog|fmt|sodium|CLI)/) print FILENAME ":" FNR ": not in this room: " $2
    }
    !(room in known) && room != "include" && FNR == 1 { print FILENAME ": the room " room " is not in layers.txt" }
')
if [ -n "$bad" ]; then
    printf '%s\n' "$bad"
    exit 1
fi
