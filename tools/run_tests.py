#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# run_tests.py TREE [CTEST ARGUMENT]...: runs ctest. Prints a progress line every ten seconds, and each failure with the
# begin of its output at once. The complete output is in TREE/ctest.log. The last line is "N passed, N failed, N
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


def log_line(text):
    print(text, file=sys.stderr, flush=True)


class Progress:
    def __init__(self):
        self.begin = time.monotonic()
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.total = "?"
        self.running = []
        self.lines_left = 0  # of the output of a failure, to print
        self.ended = threading.Event()

    def report(self):
        while not self.ended.wait(EVERY_S):
            self.line()

    def line(self):
        running = [name if len(name) <= 60 else name[:57] + "..." for name in list(self.running)]
        now = f"; now: {', '.join(running)}" if running else ""
        done = sum(self.counts.values())
        log_line(f"{time.monotonic() - self.begin:5.0f} s: {done} of {self.total} tests, {self.counts['failed']} failed{now}")

    def take(self, line):
        started = START.match(line)
        if started:
            self.running.append(started.group(1))
            self.lines_left = 0
            return
        result = RESULT.match(line)
        if result is None:
            if self.lines_left > 0:
                log_line(f"    {line}")
                self.lines_left -= 1
            elif re.match(r"^(No tests were found|Unable|CMake Error|Cannot|Could not)", line):
                log_line(line)
            return
        _, self.total, name, _, verdict, rest = result.groups()
        if name in self.running:
            self.running.remove(name)
        self.lines_left = 0
        if verdict == "Passed":
            self.counts["passed"] += 1
        elif verdict == "Skipped":
            self.counts["skipped"] += 1
            log_line(f"skipped: {name}")
        else:
            self.counts["failed"] += 1
            log_line(f"FAILED: {name}: {verdict}{rest}")
            self.lines_left = SHOWN_LINES


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
        log_line(line)
    counts = progress.counts
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped", flush=True)
    if str(sum(counts.values())) != str(progress.total) or status < 0:
        log_line(f"ctest ended early, with {status}: {tree}/ctest.log")
        return 1
    if counts["passed"] == 0:
        log_line("no test ran")
        return 1
    return 0 if status == 0 and counts["failed"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
