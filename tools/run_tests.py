#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# run_tests.py TREE [CTEST ARGUMENT]...: runs ctest and reports progress: a line every ten seconds, and each failure
# with its output immediately. The complete output is in TREE/ctest.log. The last line is "N passed, N failed, N
# skipped".
import re
import subprocess
import sys
import threading
import time

EVERY_S = 10
SHOWN_LINES = 60
START = re.compile(r"^ *Start +\d+: (.*)$")
RESULT = re.compile(r"^ *(\d+)/(\d+) Test +#\d+: (.*?) \.*(?:Subprocess aborted)?(\*\*\*| +)(Passed|Failed|Timeout|Exception|Not Run|Skipped)(.*)$")


def say(text):
    print(text, file=sys.stderr, flush=True)


class Progress:
    def __init__(self):
        self.begin = time.monotonic()
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.total = "?"
        self.running = []
        self.shown = 0  # remaining lines of a failure's output to print
        self.ended = threading.Event()

    def report(self):
        while not self.ended.wait(EVERY_S):
            self.line()

    def line(self):
        running = [name if len(name) <= 60 else name[:57] + "..." for name in list(self.running)]
        now = f"; now: {', '.join(running)}" if running else ""
        done = sum(self.counts.values())
        say(f"{time.monotonic() - self.begin:5.0f} s: {done} of {self.total} tests, {self.counts['failed']} failed{now}")

    def take(self, line):
        started = START.match(line)
        if started:
            self.running.append(started.group(1))
            self.shown = 0
            return
        result = RESULT.match(line)
        if result is None:
            if self.shown > 0:
                say(f"    {line}")
                self.shown -= 1
            elif re.match(r"^(No tests were found|Unable|CMake Error|Cannot|Could not)", line):
                say(line)
            return
        _, self.total, name, _, verdict, rest = result.groups()
        if name in self.running:
            self.running.remove(name)
        self.shown = 0
        if verdict == "Passed":
            self.counts["passed"] += 1
        elif verdict == "Skipped":
            self.counts["skipped"] += 1
            say(f"skipped: {name}")
        else:
            self.counts["failed"] += 1
            say(f"FAILED: {name}: {verdict}{rest}")
            self.shown = SHOWN_LINES


def main():
    tree, arguments = sys.argv[1], sys.argv[2:]
    progress = Progress()
    threading.Thread(target=progress.report, daemon=True).start()
    with open(f"{tree}/ctest.log", "w", encoding="utf-8") as log:
        ctest = subprocess.Popen(["ctest", "--test-dir", tree, "--output-on-failure", "-j", "2", *arguments],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace")
        for line in ctest.stdout:
            log.write(line)
            log.flush()
            progress.take(line.rstrip("\n"))
        status = ctest.wait()
    progress.ended.set()
    progress.line()
    try:
        with open(f"{tree}/Testing/Temporary/LastTest.log", encoding="utf-8", errors="replace") as log:
            missing = {line.strip() for line in log if line.lstrip().startswith("SKIPPED:")}
    except OSError:
        missing = set()
    for line in sorted(missing):
        say(line)
    counts = progress.counts
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped", flush=True)
    if str(sum(counts.values())) != str(progress.total) or status < 0:
        say(f"ctest ended early, with {status}: {tree}/ctest.log")
        return 1
    if counts["passed"] == 0:
        say("no test ran")
        return 1
    return 0 if status == 0 and counts["failed"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
