#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""Checks that every ```cpp block of the guides is part of an example that compiles and runs: docs/coming-from-*.md and
docs/which-scheme.md, your-server.md, encryption.md, rpc.md and prediction.md must match examples/*.cpp in everything but indentation.
Every example that a guide names must exist. A block of docs/tutorial-cpp.md must be in the file and step that the page
names; tests/tools/tutorial_cpp_test.sh also applies the blocks."""
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def plain(text):
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def tutorial_blocks():
    """Checks docs/tutorial-cpp.md. Returns the number of blocks and the number of wrong blocks."""
    blocks, bad, step = 0, 0, 0
    with open(os.path.join(ROOT, "docs", "tutorial-cpp.md"), encoding="utf-8") as file:
        parts = re.split(r"^```(\w*)\n(.*?)^```$", file.read(), flags=re.M | re.S)
    for text, language, block in zip(parts[0::3], parts[1::3], parts[2::3]):
        steps = re.findall(r"^## Step (\d+): ", text, re.M)
        step = int(steps[-1]) if steps else step
        if language != "cpp":
            continue
        blocks += 1
        target = re.match(r"(?:New file|In) `([a-z.]+)`", text.strip().split("\n")[-1])
        folder = os.path.join(ROOT, "examples", "tutorial", "cpp", f"step{step}")
        path = os.path.join(folder, target[1] if target else "")
        source = ""
        if target and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                source = plain(file.read())
        if plain(block) not in source:
            bad += 1
            print(f"docs/tutorial-cpp.md: step {step}: {path} does not contain this block:\n{block}")
    return blocks, bad


def main():
    examples = {}
    for path in glob.glob(os.path.join(ROOT, "examples", "*.cpp")):
        with open(path, encoding="utf-8") as file:
            examples[os.path.basename(path)] = plain(file.read())
    guides = sorted(glob.glob(os.path.join(ROOT, "docs", "coming-from-*.md")))
    guides += [os.path.join(ROOT, "docs", name) for name in ("which-scheme.md", "your-server.md", "encryption.md", "rpc.md", "prediction.md")]
    blocks, bad = 0, 0
    for path in guides:
        name = os.path.relpath(path, ROOT)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for block in re.findall(r"^```cpp\n(.*?)^```$", text, re.M | re.S):
            blocks += 1
            if not any(plain(block) in source for source in examples.values()):
                bad += 1
                print(f"{name}: no example contains this block:\n{block}")
        for example in re.findall(r"examples/(\w+\.cpp)", text):
            if example not in examples:
                bad += 1
                print(f"{name}: examples/{example} does not exist")
    of_tutorial, wrong = tutorial_blocks()
    print(f"{len(guides)} guides, {blocks} blocks, {bad} wrong; tutorial: {of_tutorial} blocks, {wrong} wrong")
    return 1 if bad or wrong or len(guides) < 6 or not blocks or of_tutorial < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
