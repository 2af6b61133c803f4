# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""jobs_test.py PROGRAM SEEDS MINUTES: seeds of the simulator that run at the same time, on threads, have the same
results as one after another."""
import subprocess
import sys


def outcome(jobs):
    run = subprocess.run(
        [sys.argv[1], "--small", "--seed", "7", "--seeds", sys.argv[2], "--minutes", sys.argv[3], "--clients", "8",
         "--jobs", str(jobs)],
        capture_output=True, text=True, check=True)
    lines = run.stdout.splitlines()
    # The first line ends with the hash of the state of all clients. The run time before it is ignored.
    return [lines[0].split("state hash ")[1], *lines[1:]]


alone, together = outcome(1), outcome(4)
if alone != together:
    sys.exit(f"sequential: {alone}\nparallel: {together}")
print(alone[0])
