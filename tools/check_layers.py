#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""check_layers.py DIR...: fails when an include violates layers.txt, directly or through other includes (`never`).

Modules without I/O must not include <iostream>, <thread>, <mutex> or system headers.
"""
import os
import re
import sys

SANS_IO = {"core", "protocol", "world", "spatial", "interest", "replication", "link", "server", "client", "oracle", "capi"}
NOT_STANDARD = re.compile(
    r"<(iostream|fstream|thread|mutex|condition_variable|filesystem|chrono|random|execution|format|expected"
    r"|source_location|memory_resource)>|<(sys/|unistd|fcntl|boost|nlohmann|toml|spdlog|fmt|sodium|CLI)")


def read_rules(path):
    groups, may, never = {}, {}, {}

    def expand(words):
        out = set()
        for word in words:
            out |= groups[word] if word.startswith("=") else {word}
        return out

    for line in open(path):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, _, rest = line.partition(":")
        if name.startswith("="):
            groups[name] = expand(rest.split())
        elif name.startswith("never "):
            never[name.split()[1]] = expand(rest.split())
        else:
            may[name] = expand(rest.split())
    return may, never


def target_of(path):
    parts = path.split("/")
    if "src" in parts[:-1]:
        parts = parts[parts.index("src"):]
        return "/".join(parts[:3] if parts[1] == "interest" and len(parts) > 3 else parts[:2])
    if "include" in parts[:-1]:
        return "/".join(parts[parts.index("include") + 1:]).removesuffix(".hpp").removesuffix(".h")
    for root in ("games", "apps"):
        if root in parts[:-1]:
            at = parts.index(root)
            return "/".join(parts[at:at + 2])
    return "?"


def main(directories):
    may, never = read_rules(os.path.join(os.path.dirname(os.path.abspath(__file__)), "layers.txt"))
    problems = []
    files = sorted(os.path.join(root, name)
                   for directory in directories for root, _, names in os.walk(directory)
                   for name in names if name.endswith((".hpp", ".cpp", ".h")))
    roots = {directory.split("/")[0]: directory for directory in directories}
    includes = {}  # path -> [(line, target, path or None)]
    for path in files:
        own = target_of(path)
        if own not in may:
            problems.append(f"{path}: {own} is not in layers.txt")
            continue
        is_program = own.startswith(("games/", "apps/"))
        is_sans_io = own.startswith("purview") or own.split("/")[1] in SANS_IO and own.startswith("src/")
        for number, line in enumerate(open(path), 1):
            if is_sans_io and line.startswith("#include <") and NOT_STANDARD.search(line):
                problems.append(f"{path}:{number}: this module must not include {line.split()[1]}")
            match = re.match(r'#include "([^"]+)"', line)
            if not match or match[1] == "purview.h":
                continue
            named = match[1]
            if named.startswith("purview/"):
                to, at = named.removesuffix(".hpp").removesuffix(".h"), os.path.join(roots.get("include", "include"), named)
            elif "/" in named:
                to, at = target_of("src/" + named), os.path.join(roots.get("src", "src"), named)
            elif is_program:
                continue  # a file of the same program, or the game
            else:
                problems.append(f'{path}:{number}: "{named}" must be written as MODULE/FILE')
                continue
            includes.setdefault(path, []).append((number, to, at))
            allowed = may[own]
            if to != own and to not in allowed and not ("public" in allowed and to.startswith("purview/")):
                problems.append(f"{path}:{number}: {own} may not include {to} ({named})")

    for path in files:  # includes of includes
        banned = set()
        for name, targets in never.items():
            own = target_of(path)
            if own == name or own.startswith(name + "/"):
                banned |= targets
        if not banned:
            continue
        seen, queue = {path}, [(path, [])]
        while queue:
            at, before = queue.pop()
            for number, to, next_path in includes.get(at, []):
                if to in banned:
                    steps = " -> ".join(before + [next_path])
                    problems.append(f"{path}: must never reach {to}: {steps}")
                elif next_path not in seen:
                    seen.add(next_path)
                    queue.append((next_path, before + [next_path]))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
