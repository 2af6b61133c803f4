#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""C++ in the guides is C++ of the examples: every ```cpp block of docs/coming-from-*.md,
docs/which-scheme.md, docs/your-server.md, docs/rpc.md and docs/prediction.md stands, word for word but for indentation, in one of examples/*.cpp, which compile
and run. Every example that a guide names exists."""
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def plain(text):
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def main():
    examples = {}
    for path in glob.glob(os.path.join(ROOT, "examples", "*.cpp")):
        with open(path, encoding="utf-8") as file:
            examples[os.path.basename(path)] = plain(file.read())
    guides = sorted(glob.glob(os.path.join(ROOT, "docs", "coming-from-*.md")))
    guides += [os.path.join(ROOT, "docs", name) for name in ("which-scheme.md", "your-server.md", "rpc.md", "prediction.md")]
    blocks, bad = 0, 0
    for path in guides:
        name = os.path.relpath(path, ROOT)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for block in re.findall(r"^```cpp\n(.*?)^```$", text, re.M | re.S):
            blocks += 1
            if not any(plain(block) in source for source in examples.values()):
                bad += 1
                print(f"{name}: no example has this:\n{block}")
        for example in re.findall(r"examples/(\w+\.cpp)", text):
            if example not in examples:
                bad += 1
                print(f"{name}: there is no examples/{example}")
    print(f"{len(guides)} guides, {blocks} blocks, {bad} wrong")
    return 1 if bad or len(guides) < 6 or not blocks else 0


if __name__ == "__main__":
    sys.exit(main())
