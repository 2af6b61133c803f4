#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""check_classes.py [--list N] DIR...: fails when a class has more than 40 fields or 60 methods.

Exceptions are in classes_large.txt, one "CLASS FIELDS METHODS" per line. They may only shrink: a class above its line
fails, and so does a line that is no longer needed. --list N prints the N largest classes. Needs universal-ctags; exit
code 77 if it is not installed. Run at the root of the repository.
"""
import argparse
import collections
import json
import shutil
import subprocess
import sys

CTAGS = shutil.which("ctags-universal") or shutil.which("ctags")
FIELDS_MAX = 40
METHODS_MAX = 60
LIST = "tools/classes_large.txt"


def count(directories):
    """Class name relative to namespace purview -> (fields, methods). Methods are overloads declared in the class."""
    command = [CTAGS, "-R", "--languages=C++", "--langmap=C++:.hpp.cpp.h", "--kinds-C++=cspmf", "--fields=+SKna",
               "--output-format=json", "-f", "-", *directories]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    members = collections.defaultdict(lambda: [set(), set()])
    for line in lines:
        tag = json.loads(line)
        if tag.get("scopeKind") not in ("class", "struct") or "access" not in tag:  # access: only in the class body
            continue
        name = tag["scope"].removeprefix("purview::")
        if tag["kind"] == "member":
            members[name][0].add(tag["name"])
        elif tag["kind"] in ("prototype", "function") and not tag["name"].startswith(("~", "operator")):
            members[name][1].add((tag["name"], tag.get("signature", "").replace(" ", "")))
    return {name: (len(fields), len(methods)) for name, (fields, methods) in members.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", type=int, default=0)
    parser.add_argument("directories", nargs="+")
    args = parser.parse_args()
    if CTAGS is None:
        print("SKIPPED: no universal-ctags")
        return 77
    counts = count(args.directories)
    if args.list:
        largest = sorted(counts.items(), key=lambda item: -(item[1][0] + item[1][1]))[:args.list]
        for name, (fields, methods) in largest:
            print(f"{name:28} {fields:4} fields {methods:4} methods")
        return 0
    allowed = {}
    with open(LIST, encoding="utf-8") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                name, fields, methods = line.split()
                allowed[name] = (int(fields), int(methods))
    problems = []
    for name, (fields, methods) in sorted(counts.items()):
        fields_max, methods_max = allowed.get(name, (FIELDS_MAX, METHODS_MAX))
        if fields > fields_max or methods > methods_max:
            problems.append(f"{name} has {fields} fields and {methods} methods; at most {fields_max} and {methods_max}")
    for name, (fields, methods) in allowed.items():
        now = counts.get(name)
        if now is None or (now[0] <= FIELDS_MAX and now[1] <= METHODS_MAX):
            problems.append(f"{name} no longer needs its line in tools/classes_large.txt: remove it")
        elif now != (fields, methods) and now[0] <= fields and now[1] <= methods:
            problems.append(f"{name} has shrunk: change its line in tools/classes_large.txt to {now[0]} {now[1]}")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
