#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""check_assertions.py SRC: fails when a module has fewer than 15 assertions per 1,000 lines of code.

An assertion is a PURVIEW_ASSERT, a PURVIEW_VALIDATE or a static_assert. Lines that are empty or only a
comment do not count. --list prints all modules.
"""

import os
import re
import sys

MODULES = ["interest", "world", "replication", "server", "client"]
LEAST = 15
ASSERTION = re.compile(r"\b(PURVIEW_ASSERT|PURVIEW_VALIDATE|static_assert)\(")


def count(module):
    lines = assertions = 0
    for folder, _, names in os.walk(module):
        for name in names:
            if not name.endswith((".cpp", ".hpp")):
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                for line in file:
                    code = line.split("//")[0]
                    lines += 1 if code.strip() else 0
                    assertions += len(ASSERTION.findall(code))
    return lines, assertions


def main():
    arguments = [a for a in sys.argv[1:] if a != "--list"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    failed = False
    for module in MODULES:
        lines, assertions = count(os.path.join(arguments[0], module))
        rate = 1000 * assertions / max(lines, 1)
        if "--list" in sys.argv or rate < LEAST:
            print(f"{arguments[0]}/{module}: {assertions} assertions in {lines} lines, {rate:.1f} per 1,000")
        if rate < LEAST:
            print(f"{arguments[0]}/{module}: at least {LEAST} per 1,000 lines (CONTRIBUTING.md)")
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
