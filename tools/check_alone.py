#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""check_alone.py ALONE BUILD FOLDER...: checks that each source of these folders compiles alone, without the
includes of other sources in its unity group. ALONE is configured without unity (preset alone). Sources that BUILD compiles alone
are skipped. The standard library is read once, from a precompiled header, so a missing standard include is not found
here. Exit code 1: a source does not compile."""

import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys

STANDARD = re.compile(r"^#include <([a-z_]+)>$", re.MULTILINE)  # no slash and no ".h"


def standard_headers():
    names = subprocess.run(["git", "ls-files", "*.hpp", "*.cpp"], capture_output=True, text=True, check=True).stdout
    headers = set()
    for name in names.split():
        with open(name, encoding="utf-8") as file:
            headers.update(STANDARD.findall(file.read()))
    return sorted(headers)


class Precompiled:
    """The standard headers, precompiled once for each set of compiler options."""

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        self.made = {}
        os.makedirs(self.folder, exist_ok=True)

    def header(self, words, directory):
        options = tuple(w for w in words[1:] if w.startswith(("-std", "-O", "-f", "-m", "-pthread", "-D_")))
        if options not in self.made:
            path = os.path.join(self.folder, f"standard_{len(self.made)}.hpp")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(f"#include <{name}>\n" for name in standard_headers())
            subprocess.run([words[0], *options, "-w", "-x", "c++-header", path, "-o", path + ".gch"], cwd=directory, check=True)
            self.made[options] = path
        return self.made[options]


def command_of(entry):
    words = [word for word in shlex.split(entry["command"]) if not word.endswith("ccache")]
    at = words.index("-o")
    return words[:at] + words[at + 2:]


def compile_alone(job):
    entry, words = job
    done = subprocess.run(words + ["-fsyntax-only", "-w"], cwd=entry["directory"], capture_output=True, text=True)
    return entry["file"], done.returncode, done.stderr


def entries_of(build):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        return {entry["file"]: entry for entry in json.load(file)}


def main():
    alone, build, *folders = sys.argv[1:]
    roots = tuple(os.path.abspath(folder) + os.sep for folder in folders)
    compiled = entries_of(build)
    wanted = [entry for file, entry in sorted(entries_of(alone).items())
              if file.startswith(roots) and file not in compiled]
    if not wanted:
        sys.exit(f"{alone} has no source of {' '.join(folders)}")
    precompiled = Precompiled(os.path.join(alone, "precompiled"))
    jobs = []
    for entry in wanted:
        words = command_of(entry)
        jobs.append((entry, words + ["-include", precompiled.header(words, entry["directory"])]))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, code, errors in pool.map(compile_alone, jobs):
            if code != 0:
                failed += 1
                print(f"{file} does not compile alone:\n{errors}", file=sys.stderr)
    print(f"{len(wanted)} sources, {failed} do not compile alone")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
