#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""Follows docs/tutorial-browser.md to the letter: applies its code blocks in order, and runs its commands.

  follow.py            applies the blocks and compares the files with step1 to step6
  follow.py --write    the same, and writes step1 to step6
  follow.py --run      works in an empty directory, also runs the commands, and verifies what each step claims, in a
                       browser. Without Chromium, Node.js clients join instead. Without Node.js, only the files of the
                       web server are verified. The output names what is skipped.

Each code block of the page follows a line that names a file and a position, such as "Add to `index.html`, above `LINE`:".
--run needs the built program and the free ports 7780 and 8000. --build runs ./dev demo, like the page; otherwise
this command is skipped. --keep DIRECTORY works in a new directory of this name and keeps it, with screenshots.
"""
import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
PAGE = os.path.join(ROOT, "docs", "tutorial-browser.md")
STEPS = 6
SITE = "http://127.0.0.1:8000/"
INSPECTOR = re.compile(r"http://127\.0\.0\.1:7780/\?operator=\w+")
WAIT_S = 60
BUILD_S = 3600

NAME = r"`([\w.]+)`"
LINE = r"(?:`` ?(.+?) ?``|`(.+?)`)"
POSITIONS = {"new": rf"New file {NAME}:", "end": rf"Add at the end of {NAME}:", "above": rf"Add to {NAME}, above {LINE}:",
          "below": rf"Add to {NAME}, below {LINE}:", "replace": rf"Replace in {NAME} the line {LINE}:"}


class Failure(Exception):
    pass


def expect(holds, text):
    if not holds:
        raise Failure(text)


def items_of(text):
    """Returns the items of the page in order: (step, "block", language, block, paragraph before it) for each block, and
    (step, "seen") for the last "You see" of a step. Step 0 is the preparation."""
    step, before, out = 0, "", []
    for part in re.split(r"^(```\w*\n.*?^```$)", text, flags=re.M | re.S):
        block = re.fullmatch(r"```(\w*)\n(.*?)^```", part, re.M | re.S)
        if block:
            out.append((step, "block", block[1], block[2], before))
            continue
        for heading, seen in re.findall(r"^(?:## (.*)|(\*\*You see\*\*).*)$", part, re.M):
            number = re.match(r"Step (\d+)", heading)
            step = int(number[1]) if number else step
            if seen:
                out = [item for item in out if item[:2] != (step, "seen")] + [(step, "seen")]
        before = part.strip().split("\n\n")[-1].replace("\n", " ")
    return out


def apply(files, before, block):
    """Adds a block to the files that the reader has written: {name: text}."""
    for kind, pattern in POSITIONS.items():
        match = re.fullmatch(pattern, before)
        if match:
            break
    else:
        raise Failure(f"the line before a block names no file and position: {before!r}\n{block}")
    name, line = match[1], next((text for text in match.groups()[1:] if text), "")
    if kind == "new":
        expect(name not in files, f"{name} exists already")
        files[name] = block
        return
    expect(name in files, f"{name} does not exist yet")
    if kind == "end":
        files[name] += block
        return
    lines = files[name].splitlines(keepends=True)
    found = [i for i, text in enumerate(lines) if text.strip() == line.strip()]
    expect(len(found) == 1, f"{name} must contain the line {line!r} once; it has {len(found)}")
    at = found[0] + (kind == "below")
    lines[at:at + (kind == "replace")] = [block]
    files[name] = "".join(lines)


def compare(step, files, write):
    directory = os.path.join(HERE, f"step{step}")
    if write:
        os.makedirs(directory, exist_ok=True)
        for name, text in files.items():
            with open(os.path.join(directory, name), "w", encoding="utf-8") as out:
                out.write(text)
    expect(os.path.isdir(directory) and sorted(os.listdir(directory)) == sorted(files), f"step{step} has other files than the page")
    for name, text in files.items():
        with open(os.path.join(directory, name), encoding="utf-8") as file:
            expect(file.read() == text, f"step{step}/{name} differs from the page (follow.py --write)")


def until(what, probe, seconds=WAIT_S):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = probe()
        if value:
            return value
        time.sleep(0.05)
    raise Failure(f"timed out: {what}")


def is_open(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def is_installed(*names):
    return any(map(shutil.which, names))


class Reader:
    """Does what the page describes, with terminals and a browser."""

    def __init__(self, directory):
        self.directory = directory
        self.purview = os.path.join(directory, "purview")
        self.room = os.path.join(directory, "room")
        self.terminals = {}
        self.address = ""
        self.browser = None
        self.walkers = []
        self.players = {}
        self.viewer = "browser" if is_installed("node") and is_installed("chromium", "chromium-browser", "google-chrome") else \
            "node" if is_installed("node") and os.path.exists("/usr/share/nodejs/ws") else "nothing"
        missing = {"browser": "", "node": "no Chromium; Node.js clients join instead, and drawing is not checked",
                   "nothing": "no Node.js; no client joins"}[self.viewer]
        if missing:
            print(f"SKIPPED: browser steps: {missing}")

    # -- terminals

    def output(self, terminal):
        with open(os.path.join(self.directory, terminal), encoding="utf-8") as log:
            return log.read()

    def start(self, terminal, command, where, is_started, seconds=WAIT_S):
        """Starts a program that runs until Ctrl+C, and waits for the result of is_started()."""
        with open(os.path.join(self.directory, terminal), "w", encoding="utf-8") as log:
            child = subprocess.Popen(command, shell=True, cwd=where, stdout=log, stderr=log, start_new_session=True)
        self.terminals[terminal] = child

        def probe():
            expect(child.poll() is None, f"{command} ended: {self.output(terminal)}")
            return is_started()
        return until(f"{command} starts", probe, seconds)

    def stop(self, terminal):
        child = self.terminals.pop(terminal, None)
        if child is None:
            return
        os.killpg(child.pid, signal.SIGINT)
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            raise Failure(f"Ctrl+C does not stop {terminal}") from None

    def address_in(self, terminal):
        found = INSPECTOR.search(self.output(terminal))
        return found and found[0]

    def run(self, line, build):
        print(f"$ {line}", flush=True)
        if line == "./dev demo":
            if build:
                self.start("demo", line, ROOT, lambda: self.address_in("demo"), BUILD_S)
                self.stop("demo")
            self.link_files()
        elif " serve " in line:
            self.stop("server")
            self.address = self.start("server", line, self.purview, lambda: self.address_in("server"))
        elif " http.server " in line:
            self.start("site", line, self.purview, lambda: is_open(8000))
        elif " bots " in line:
            self.start("bots", line, self.purview, lambda: "8/8 joined" in self.output("bots"))
            self.stop("bots")
        else:
            self.run_to_its_end(line)

    def link_files(self):
        """Links the files that the commands need into the empty directory."""
        for name in ("build/release/purview", "web/client.mjs", "web/prebuilt/purview_client.wasm"):
            source, link = os.path.join(ROOT, name), os.path.join(self.purview, name)
            expect(os.path.exists(source), f"{source} is missing: run ./dev demo, or use --build")
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(source, link)

    def run_to_its_end(self, line):
        for name, value in (("ADDRESS", self.address), ("OBSERVER", self.players.get("observer")), ("ENTITY", self.players.get("entity"))):
            if name in line and value is None:
                print("SKIPPED: nothing has joined")
                return
            line = line.replace(name, str(value))
        result = subprocess.run(line, shell=True, cwd=self.purview, capture_output=True, text=True, check=False)
        print(result.stdout, end="", flush=True)
        expect(result.returncode == 0, f"{line}: {result.stderr}")
        expect(" explain " not in line or "subtract: cloaked is" in result.stdout, "`explain` does not report the step 'subtract: cloaked'")

    # -- checks of what the reader sees

    def verify(self, step):
        for name, kind in (("", "text/html"), ("client.mjs", "javascript"), ("purview_client.wasm", "application/wasm")):
            with urllib.request.urlopen(SITE + name, timeout=20) as answer:
                expect(kind in answer.headers["Content-Type"], f"{name} is sent as {answer.headers['Content-Type']}")
                with open(os.path.join(self.room, name or "index.html"), "rb") as file:
                    expect(answer.read() == file.read(), f"the web server sends another {name or 'index.html'}")
        if self.viewer == "browser":
            self.verify_in_browser(step)
        elif self.viewer == "node":
            self.verify_with_node(step)

    def verify_in_browser(self, step):
        """The browser stays open until the step ends, because the page uses its players."""
        test = os.path.join(ROOT, "tests", "browser", "tutorial_test.mjs")
        self.browser = subprocess.Popen(["node", test, "--step", str(step), SITE, self.address, self.directory],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for line in self.browser.stdout:
            if line.startswith("{"):
                self.players = json.loads(line)
                print(f"step {step}: as the page describes it", flush=True)
                return
            print(line, end="", flush=True)
        raise Failure(f"step {step} fails in the browser: see above")

    def verify_with_node(self, step):
        program = os.path.join(self.directory, "node")
        os.makedirs(program, exist_ok=True)
        for name in ("web/node_client.mjs", "web/client.mjs", "web/prebuilt/purview_client.wasm"):
            shutil.copy(os.path.join(ROOT, name), program)
        join = ["node", os.path.join(program, "node_client.mjs"), "ws://127.0.0.1:7780/play"]
        clients = [subprocess.Popen([*join, "5"], stdout=subprocess.PIPE, text=True) for _ in range(1 if step == 1 else 2)]
        results = [json.loads(client.communicate(timeout=WAIT_S)[0]) for client in clients]
        most, left = [result["ghosts_max"] for result in results], sum(result["leaves"] for result in results)
        print(f"step {step}: the Node.js clients had at most {most} ghosts; {left} ghosts left", flush=True)
        if step < 4:
            expect(max(most) == 36 + len(clients), "a client without rules must receive all 36 ghosts and the players")
        else:
            expect(max(most) < 36 and left > 0, "the rule must remove ghosts")
        if step == STEPS:
            self.walkers = [subprocess.Popen([*join, "20"], stdout=subprocess.DEVNULL) for _ in range(2)]
            time.sleep(3)
            self.players = {"observer": 0, "entity": 37}

    def type_rule(self, step):
        """Adds a step to the rules of the running server. With a browser, verify() does this on the page."""
        if self.viewer == "browser":
            return
        rules = os.path.join(self.directory, "rules.toml")
        program = [os.path.join(self.purview, "build/release/purview"), "rules", "--url", self.address]
        text = subprocess.run(program, capture_output=True, text=True, check=True).stdout
        with open(rules, "w", encoding="utf-8") as out:
            out.write(text.replace('"]\n', f'", "{step}"]\n'))
        subprocess.run([*program, "--apply", rules], capture_output=True, check=True)
        expect(step in subprocess.run(program, capture_output=True, text=True, check=True).stdout, f"the server did not add the rule {step}")

    def end_step(self):
        if self.browser is not None:
            self.browser.stdin.close()
            expect(self.browser.wait(WAIT_S) == 0, "the browser reports a failure")
        for walker in self.walkers:
            walker.wait(WAIT_S)
        self.browser, self.walkers = None, []

    def close(self):
        for child in [self.browser, *self.walkers]:
            if child is not None and child.poll() is None:
                child.kill()
        for terminal in list(self.terminals):
            self.stop(terminal)


def follow(args, directory):
    """Follows the page. directory: where to work; None: only applies the blocks."""
    with open(PAGE, encoding="utf-8") as file:
        items = items_of(file.read())
    expect({step for step, *_ in items} == set(range(STEPS + 1)), f"the page does not have {STEPS} steps with blocks")
    expect(sum(item[1] == "seen" for item in items) == STEPS, 'a step has no "You see"')
    reader = directory and Reader(directory)
    files, blocks = {}, 0
    try:
        for i, (step, what, *rest) in enumerate(items):
            if what == "seen" and reader:
                reader.verify(step)
            elif what == "block":
                blocks += 1
                language, block, before = rest
                if language not in ("sh", "rule"):
                    apply(files, before, block)
                    if reader:
                        for name, text in files.items():
                            with open(os.path.join(reader.room, name), "w", encoding="utf-8") as out:
                                out.write(text)
                elif reader and language == "rule":
                    reader.type_rule(block.strip())
                elif reader:
                    for line in block.splitlines():
                        reader.run(line, args.build)
            if step > 0 and (i + 1 == len(items) or items[i + 1][0] != step):
                if reader:
                    reader.end_step()
                compare(step, files, args.write)
    finally:
        if reader:
            reader.close()
    print(f"docs/tutorial-browser.md: {STEPS} steps, {blocks} blocks{', followed' if reader else ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--write", "--run", "--build"):
        parser.add_argument(option, action="store_true")
    parser.add_argument("--keep", metavar="DIRECTORY")
    args = parser.parse_args()
    try:
        if not args.run:
            follow(args, None)
        elif args.keep:
            os.mkdir(args.keep)
            follow(args, os.path.abspath(args.keep))
        else:
            with tempfile.TemporaryDirectory(prefix="purview-tutorial-") as directory:
                follow(args, directory)
    except Failure as failure:
        print(f"docs/tutorial-browser.md: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
