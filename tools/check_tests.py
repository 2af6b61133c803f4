#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""check_tests.py: fails when a source with logic has no test file of its own. Run at the root of the repository.

The test of src/A/x.cpp is tests/A/x_test.cpp. A source has logic when it has a branch or a loop. Sources that
have no such test yet are in tools/tests_missing.txt, one path per line. That list may only shrink: an entry is
an error when its test exists, when its source does not, and when it is listed twice.
"""
import os
import re
import sys

LIST = "tools/tests_missing.txt"
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|^[ \t]*#[^\n]*', re.DOTALL | re.MULTILINE)
LOGIC = re.compile(r"\b(if|for|while|switch)\b|\?")


def sources():
    return sorted(os.path.join(folder, name).replace(os.sep, "/")
                  for folder, _, names in os.walk("src") for name in names if name.endswith(".cpp"))


def has_logic(path):
    with open(path, encoding="utf-8") as file:
        return LOGIC.search(NOT_CODE.sub("", file.read())) is not None


def test_of(source):
    return "tests" + source.removeprefix("src").removesuffix(".cpp") + "_test.cpp"


def read_list():
    if not os.path.exists(LIST):
        return []
    with open(LIST, encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    return [line for line in lines if line and not line.startswith("#")]


def main():
    tested = sources()
    if not tested:
        sys.exit("no sources in src: run this at the root of the repository")
    missing = read_list()
    problems = [f"{LIST}: {path} is listed twice: remove one" for path in sorted({p for p in missing if missing.count(p) > 1})]
    for path in sorted(set(missing)):
        if path not in tested:
            problems.append(f"{LIST}: {path} does not exist: remove the entry")
        elif os.path.exists(test_of(path)):
            problems.append(f"{LIST}: {path} has a test, {test_of(path)}: remove the entry")
        elif not has_logic(path):
            problems.append(f"{LIST}: {path} needs no test: remove the entry")
    for path in tested:
        if path not in missing and not os.path.exists(test_of(path)) and has_logic(path):
            problems.append(f"{path} has no test: add {test_of(path)}")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
