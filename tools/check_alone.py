#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""check_alone.py ALONE BUILD FOLDER...: whether each source of these folders compiles alone, without
what the build has read before it in the same unit. ALONE is configured without unity (preset alone);
what BUILD compiles alone anyway is not asked. Exit code 1: one does not."""

import concurrent.futures
import json
import os
import shlex
import subprocess
import sys


def compile_alone(entry):
    words = [word for word in shlex.split(entry["command"]) if not word.endswith("ccache")]
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
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, code, errors in pool.map(compile_alone, wanted):
            if code != 0:
                failed += 1
                print(f"{file} does not compile alone:\n{errors}", file=sys.stderr)
    print(f"{len(wanted)} sources, {failed} do not compile alone")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
