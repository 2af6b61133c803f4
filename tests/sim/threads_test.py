# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""threads_test.py PROGRAM MINUTES: a recorded seed of the simulator is replayed with several threads that write
packets. It must send the same datagrams in the same order and reach the same states."""
import os
import re
import subprocess
import sys
import tempfile

program, minutes = sys.argv[1:]


def run(*arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout


with tempfile.TemporaryDirectory() as folder:
    recording = os.path.join(folder, "recording")
    # These seeds have byte budgets of 300 and 4,800.
    for seed in ("3", "8"):
        run("--small", "--seed", seed, "--minutes", minutes, "--clients", "50", "--record", recording)
        alone = run("--replay", recording)
        sent = int(re.search(r"(\d+) sent", alone).group(1))
        if sent < 1000:
            sys.exit(f"only {sent} datagrams: {alone}")
        for threads in ("2", "3"):
            together = run("--replay", recording, "--threads", threads)
            if together != alone:
                sys.exit(f"one thread: {alone}\n{threads} threads: {together}")
        print(alone, end="")
