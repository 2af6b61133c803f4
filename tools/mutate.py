#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""Removes each guard (a security check of docs/guards.md) in turn, and runs its tests. A guard is *killed* if at least one
of them fails; otherwise it *survived*. Uses the objects of build/release, recompiles only those that contain the guard,
and links in build/mutate. Exit code 0: all guards are killed; 3: a guard survived; 2: the page is wrong, or a build
failed."""

import argparse
import concurrent.futures
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

PAGE = "docs/guards.md"
RELEASE = "build/release"
MUTATE = "build/mutate"
BINARY = "purview_tests"
JOBS = 2
SECONDS_MAX = 100  # for the tests of one mutation; a timeout counts as killed
TESTS = "tests"
MARKER = b"purview_mutated_build without "
USES = re.compile(r"\bPURVIEW_GUARD(?:_OR)?\((\w+),")
ROW = re.compile(r"^\| `(\w+)` \| `([\w./]+)` \| (.*) \| (.*) \|$")
TEST_CASE = re.compile(r'\bTEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)[)*]')
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
LIBRARY = re.compile(r"(CMakeFiles|tests/CMakeFiles/purview_breakable\.dir)/")
FAILED = re.compile(r"^TEST CASE: +(.*)$")


class Failure(Exception):
    pass


class Guard:
    def __init__(self, name, file, tests):
        self.name = name
        self.file = file
        self.tests = tests


def guards_of_page():
    """Returns the guards of the page. The sources must have the same guards, each in the same file and only once."""
    guards = []
    with open(PAGE, encoding="utf-8") as page:
        for line in page:
            row = ROW.match(line)
            if row is not None:
                guards.append(Guard(row[1], row[2], row[4].split("; ")))
    uses = {}
    for top in ("src", "include"):
        for folder, _, names in os.walk(top):
            for name in names:
                path = os.path.join(folder, name)
                if path != "src/core/mutate.hpp":
                    with open(path, encoding="utf-8") as file:
                        for guard in USES.findall(file.read()):
                            if guard in uses:
                                raise Failure(f"guard {guard} is used twice, in {uses[guard]} and {path}")
                            uses[guard] = path
    names = {guard.name: guard.file for guard in guards}
    if len(names) < len(guards):
        raise Failure(f"{PAGE}: a guard has two rows")
    for name in sorted(names.keys() | uses.keys()):
        if names.get(name) != uses.get(name):
            raise Failure(f"{PAGE}: guard {name} is in {uses.get(name)}; the page has {names.get(name)}")
    known_tests = test_names()
    for guard in guards:
        for test in guard.tests:
            if test not in known_tests:
                raise Failure(f"{PAGE}: guard {guard.name}: there is no test '{test}'")
    return guards


def test_names():
    names = set()
    for folder, _, files in os.walk(TESTS):
        for name in files:
            if not name.endswith("_test.cpp"):
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                names.update("".join(LITERAL.findall(case)) for case in TEST_CASE.findall(file.read()))
    return names


def ninja(*arguments):
    return subprocess.run(["ninja", "-C", RELEASE, *arguments], check=True, capture_output=True,
                          text=True).stdout


class Tree:
    """build/release: the linked objects of the tests, the command of each object, and the files that it depends on."""

    def __init__(self):
        self.commands = {}
        with open(f"{RELEASE}/compile_commands.json", encoding="utf-8") as file:
            for entry in json.load(file):
                words = shlex.split(entry["command"])
                self.commands[words[words.index("-o") + 1]] = words
        inputs = ninja("-t", "inputs", BINARY).split()
        link = shlex.split(ninja("-t", "commands", BINARY).strip().splitlines()[-1])
        self.link = link[link.index("&&") + 1:]
        self.link = self.link[:self.link.index("&&")]
        explicit = {argument for argument in self.link if argument.endswith(".o")}
        sources = {self.source(output) for output in explicit}
        # An explicitly listed object replaces the one of the library.
        self.objects = [output for output in inputs if output in explicit or (
            output in self.commands and self.source(output) not in sources)]
        self.reads = {}
        output = None
        for line in ninja("-t", "deps").splitlines():
            if not line.startswith(" "):
                output = line.split(":")[0]
            elif line.strip():
                path = os.path.normpath(os.path.join(RELEASE, line.strip()))
                self.reads.setdefault(output, set()).add(os.path.relpath(path))

    def source(self, output):
        return os.path.relpath(self.commands[output][-1])

    def touched(self, guard):
        """Returns the objects of the library that contain the guard. Objects of tests do not contain it."""
        return [output for output in self.objects if LIBRARY.match(output) and guard.file in self.reads[output]]

    def compile(self, guard, output):
        command = list(self.commands[output])
        made = os.path.abspath(f"{MUTATE}/{guard.name}/{output.replace('/', '_')}")
        command[command.index("-o") + 1] = made
        command = [argument for argument in command if argument != "-Werror"]
        command.insert(command.index("-o"), f"-DPURVIEW_MUTATE={guard.name}")
        ran = subprocess.run(command, cwd=RELEASE, capture_output=True, text=True)
        if ran.returncode != 0:
            raise Failure(f"{guard.name} does not compile:\n{ran.stderr[-2000:]}")
        return output, made

    def build(self, guard):
        os.makedirs(f"{MUTATE}/{guard.name}", exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            made = dict(pool.map(lambda output: self.compile(guard, output), self.touched(guard)))
        link = [made.pop(argument, argument) for argument in self.link]
        at = link.index("-o")
        binary = os.path.abspath(f"{MUTATE}/{guard.name}/{BINARY}")
        link = link[:at] + list(made.values()) + ["-o", binary] + link[at + 2:]
        ran = subprocess.run(link, cwd=RELEASE, capture_output=True, text=True)
        if ran.returncode != 0:
            raise Failure(f"{guard.name} does not link:\n{ran.stderr[-2000:]}")
        with open(binary, "rb") as file:
            if MARKER + guard.name.encode() + b"\0" not in file.read():
                raise Failure(f"{guard.name} was not disabled in its binary")
        return binary


def run_tests(binary, tests):
    """Returns (whether all passed, the first failed test, how many ran)."""
    # A comma would separate filters.
    wanted = ",".join(test.replace(",", "?") for test in tests)
    command = [os.path.abspath(binary), f"-tc={wanted}", "--abort-after=1", "--no-colors=true"]
    try:
        ran = subprocess.run(command, cwd=f"{RELEASE}/tests", capture_output=True, text=True,
                             errors="replace", timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return False, "timed out", 1
    lines = ran.stdout.splitlines()
    name = ""
    for i, line in enumerate(lines):
        if FAILED.match(line):
            name = FAILED.match(line)[1].strip()
            if i + 1 < len(lines) and lines[i + 1].startswith("  "):
                name += " " + lines[i + 1].strip()
            break
    ran_count = re.search(r"test cases: +(\d+)", ran.stdout)
    return ran.returncode == 0, name or f"ends with {ran.returncode}", int(ran_count[1]) if ran_count else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="GUARD", action="append", help="only this guard; may be repeated")
    parser.add_argument("--list", action="store_true", help="only compare the page with the sources and the tests")
    options = parser.parse_args()
    try:
        guards = guards_of_page()
        if options.list:
            print(f"{len(guards)} guards")
            return 0
        guards = [guard for guard in guards if not options.only or guard.name in options.only]
        if not guards:
            raise Failure("no such guard")
        tree = Tree()
        for test in sorted({test for guard in guards for test in guard.tests}):
            passed, why, count = run_tests(f"{RELEASE}/tests/{BINARY}", [test])
            if not passed or count != 1:
                raise Failure(f"with all guards: {count} tests have the name '{test}'" if passed else f"with all guards: {why}")
        killed = 0
        for number, guard in enumerate(guards, 1):
            begin = time.monotonic()
            passed, by, _ = run_tests(tree.build(guard), guard.tests)
            shutil.rmtree(f"{MUTATE}/{guard.name}")
            killed += not passed
            names = "SURVIVED" if passed else f"killed by {by}"
            print(f"{number:3}/{len(guards)} {guard.name:22} {time.monotonic() - begin:4.0f} s  {names}", flush=True)
    except Failure as bad:
        print(bad, file=sys.stderr)
        return 2
    print(f"{killed} / {len(guards)} killed")
    return 0 if killed == len(guards) else 3


if __name__ == "__main__":
    sys.exit(main())
