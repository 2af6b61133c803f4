#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""Writes docs/coverage.md: which requirements are covered by tests.

A test covers the requirements with ids in its doctest suite, e.g. doctest::test_suite("N15 M8"), or in its name, e.g.
"interest: ... (N15 M8)". It counts if it passed in the last complete run and made at least one check. doctest reports
the number of checks in its last lines; any other program counts as one check. Reads the results of `./dev test`
(ctest --output-junit), tools/behavior_lines.txt, and the suites that the test program lists. Does not write numbers of
checks, because they may differ between machines.

Exit code 1: a required id is open, the document is outdated, or the input is invalid.
"""
import argparse
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TITLE_WORDS_MAX = 8
NOT_OURS = "not ours"
STATES = ["covered", "open", "later", NOT_OURS]
CASES = re.compile(r"\[doctest\] test cases: +\d+ \| +(\d+) passed \| +(\d+) failed")
CHECKS = re.compile(r"\[doctest\] assertions: +\d+ \| +(\d+) passed \| +(\d+) failed")


class InvalidInput(Exception):
    pass


class Line:
    def __init__(self, number, module, title, reason):
        self.number, self.module, self.title, self.reason = number, module, title, reason
        self.tests = []    # tests that count
        self.refused = []  # tests that name the id but do not count


class Test:
    """One test of the last run. `fault`: why it does not count, or ""."""

    def __init__(self, name, checks, fault):
        self.name, self.checks, self.fault = name, checks, fault
        self.suites = ""  # suites of all cases with this name


def read_lines(path):
    """Returns (sources, lines by number, due modules). Numbers of a source are consecutive, starting at 1."""
    sources, lines, modules, due = [], {}, [], []
    with open(path, encoding="utf-8") as file:
        for at, text in enumerate(file, 1):
            text = text.strip()
            if not text or text.startswith("#"):
                continue
            where = f"{os.path.basename(path)}:{at}"
            head = re.fullmatch(r"(modules|due|source ([A-Z])): (.+)", text)
            if head and head[2]:
                sources.append((head[2], head[3], []))
                continue
            if head:
                names = [name.strip() for name in head[3].split(",")]
                if head[1] == "modules":
                    modules = names
                else:
                    due = names
                continue
            fields = [field.strip() for field in text.split("|")]
            if len(fields) not in (3, 4) or not all(fields):
                raise InvalidInput(f"{where}: a line must be LINE | MODULE | TITLE [| REASON]")
            number, module, title = fields[:3]
            reason = fields[3] if len(fields) == 4 else ""
            if not sources or number != f"{sources[-1][0]}{len(sources[-1][2]) + 1}":
                raise InvalidInput(f"{where}: {number} is not the next number")
            if module not in modules:
                raise InvalidInput(f"{where}: unknown module '{module}'")
            if len(title.split()) > TITLE_WORDS_MAX:
                raise InvalidInput(f"{where}: the title has {len(title.split())} words; the limit is {TITLE_WORDS_MAX}")
            if module == NOT_OURS and not reason:
                raise InvalidInput(f"{where}: a line that is not adopted needs a reason")
            lines[number] = Line(number, module, title, reason)
            sources[-1][2].append(lines[number])
    for module in due:
        if module not in modules or module == NOT_OURS:
            raise InvalidInput(f"{os.path.basename(path)}: '{module}' has no lines to be due")
    return sources, lines, due


def read_results(path):
    try:
        cases = ElementTree.parse(path).getroot().iter("testcase")
    except FileNotFoundError:
        raise InvalidInput(f"{path} does not exist: run ./dev test first") from None
    except ElementTree.ParseError as error:
        raise InvalidInput(f"{path}: {error}") from None
    tests = [read_case(case) for case in cases]
    if not tests:
        raise InvalidInput(f"{path}: no test ran")
    return tests


def read_suites(program, tests):
    """Adds to each test the suites of the doctest cases with its name. Skips cases that did not run."""
    try:
        listing = subprocess.run([program, "--reporters=xml", "--list-test-cases"], stdout=subprocess.PIPE, check=True)
        cases = list(ElementTree.fromstring(listing.stdout).iter("TestCase"))
    except (OSError, subprocess.CalledProcessError) as error:
        raise InvalidInput(f"{program} does not list its tests: {error}") from None
    except ElementTree.ParseError as error:
        raise InvalidInput(f"the list of {program}: {error}") from None
    if not cases:
        raise InvalidInput(f"{program} has no tests")
    by_name = {test.name: test for test in tests}
    for case in cases:
        test, suite = by_name.get(case.get("name")), case.get("testsuite")
        if test and suite:
            test.suites += f" {suite}"


def read_case(case):
    name, status = case.get("name"), case.get("status")
    if status != "run":
        return Test(name, 0, {"fail": "it failed", "notrun": "it was skipped"}.get(status, "it did not run"))
    output = case.findtext("system-out") or ""
    if "[doctest]" not in output:
        return Test(name, 1, "")
    cases, checks = CASES.findall(output), CHECKS.findall(output)
    if any(int(failed) for _, failed in cases + checks):
        return Test(name, 0, "one of its checks failed")
    made = sum(int(passed) for passed, _ in checks)
    if made == 0:
        return Test(name, 0, "it made no check")
    return Test(name, made, "")


def assign(tests, lines, letters):
    tag = re.compile(rf"(?<![\w-])[{letters}]\d+\b")
    for test in sorted(tests, key=lambda test: test.name):
        for number in sorted(set(tag.findall(f"{test.name} {test.suites}"))):
            if number not in lines:
                raise InvalidInput(f"unknown requirement {number} in the test: {test.name}")
            (lines[number].refused if test.fault else lines[number].tests).append(test)


def state(line, due):
    if line.module == NOT_OURS:
        return NOT_OURS
    if line.tests:
        return "covered"
    return "open" if line.module in due else "later"


def plain(text):
    """Escapes text for Markdown, including tables."""
    return re.sub(r"([\\|<*_`\[\]])", r"\\\1", text)


def document(sources, due):
    out = []
    add = out.append
    add("# Coverage")
    add("")
    add("Requirements that Purview adopts from other systems, and the tests that cover them. `./dev coverage`")
    add("generates this file from the ids in the suites and names of tests and from a complete run; do not edit it by")
    add("hand. A line is covered when a test that names it passed and made at least one check. *Open*: due, and no")
    add("test yet. *Later*: its module is not due yet.")
    add("")
    add("| from | lines | " + " | ".join(STATES) + " |")
    add("|---|---" + "|---" * len(STATES) + "|")
    total = [0] * len(STATES)
    for letter, source, own in sources:
        states = [state(line, due) for line in own]
        counts = [states.count(name) for name in STATES]
        total = [a + b for a, b in zip(total, counts)]
        add(f"| {letter}: {plain(source)} | {len(own)} | " + " | ".join(map(str, counts)) + " |")
    add(f"| all | {sum(total)} | " + " | ".join(map(str, total)) + " |")
    add("")
    add("Due: " + ", ".join(due) + ".")
    add("")
    add("## Not adopted (not ours)")
    add("")
    add("| line | | why |")
    add("|---|---|---|")
    for _, _, own in sources:
        for line in own:
            if line.reason:
                part = "" if line.module == NOT_OURS else " (in part)"
                add(f"| {line.number} | {plain(line.title)}{part} | {plain(line.reason)} |")
    for letter, source, own in sources:
        add("")
        add(f"## {letter}: {plain(source)}")
        add("")
        add("| line | requirement | module | tests |")
        add("|---|---|---|---|")
        for line in own:
            cell = "<br>".join(plain(test.name) for test in line.tests)
            if not cell:
                cell = "**open**" if state(line, due) == "open" else state(line, due)
            module = "" if line.module == NOT_OURS else line.module
            add(f"| {line.number} | {plain(line.title)} | {module} | {cell} |")
    return "\n".join(out) + "\n"


def print_open(lines, module):
    """Prints the lines of the module that no test covers, and returns their number."""
    missing = [line for line in lines.values() if line.module == module and not line.tests]
    for line in missing:
        why = "; ".join(f"{test.fault}: {test.name}" for test in line.refused) or "no test names it"
        print(f"open: {line.number} {line.title} ({why})")
    if missing:
        print(f"{len(missing)} lines of {module} are open")
    return len(missing)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--require", metavar="MODULE", action="append", default=[],
                        help="fail if a line of this module is open, and list all such lines")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the document would change")
    parser.add_argument("--checks", action="store_true", help="print every line's tests with their numbers of checks")
    parser.add_argument("--results", default=os.path.join(ROOT, "build/release/results.xml"))
    parser.add_argument("--program", default=os.path.join(ROOT, "build/release/tests/purview_tests"),
                        help="the doctest program that lists the suites of its tests")
    parser.add_argument("--lines", default=os.path.join(ROOT, "tools/behavior_lines.txt"))
    parser.add_argument("--out", default=os.path.join(ROOT, "docs/coverage.md"))
    options = parser.parse_args()

    sources, lines, due = read_lines(options.lines)
    for module in options.require:
        if not any(line.module == module for line in lines.values()) or module == NOT_OURS:
            raise InvalidInput(f"--require: module '{module}' has no lines to cover")
    tests = read_results(options.results)
    read_suites(options.program, tests)
    assign(tests, lines, "".join(letter for letter, _, _ in sources))
    text = document(sources, due)

    bad = False
    if options.check:
        try:
            with open(options.out, encoding="utf-8") as file:
                bad = file.read() != text
        except FileNotFoundError:
            bad = True
        if bad:
            print(f"{os.path.relpath(options.out)} is outdated: ./dev coverage regenerates it")
    else:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(text)
    if options.checks:
        for line in lines.values():
            for test in line.tests:
                print(f"{line.number}: {test.checks} checks: {test.name}")
    states = [state(line, due) for line in lines.values()]
    print(", ".join(f"{states.count(name)} {name}" for name in STATES))
    for module in options.require:
        bad = print_open(lines, module) > 0 or bad
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except InvalidInput as error:
        sys.exit(f"coverage: {error}")
