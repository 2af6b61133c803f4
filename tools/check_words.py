#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""check_words.py [--list N] [DIRECTORY]: fails when prose uses words that docs/glossary.md replaces.

Prose is comments, documents, messages (string literals of three words or more) and the names of tests, in all files
that git tracks below DIRECTORY. Text in backticks is code and does not count. Fails if more than 0.8 of 1,000 words are
replaced ones, or more than 4 in a file with 200 words or more. --list N prints the N files with the most, and each place in them.
"""
import argparse
import collections
import os
import re
import subprocess
import sys

RATE_MAX = 0.8
FILE_RATE_MAX = 4
FILE_WORDS_MIN = 200
FORBIDDEN = re.compile(
    r"\b(he|him|his|himself|whom|whose|whoever|whomever|somebody|nobody|everybody|anybody"
    r"|tell|tells|telling|told|untold|say|says|said|saying|hear|hears|heard|unheard"
    r"|ask|asks|asked|asking|asker|owe|owes|owed|mend|mends|mended|mending|dear|dearer|dearly"
    r"|restless|lived again|good-bye|stranger|strangers|liar|liars)\b", re.IGNORECASE)
SKIPPED = re.compile(r"(^|/)(build|node_modules|corpus|results|prebuilt|seeds)(/|$)|\.(json|svg|png|tsv|wasm|lock)$|^LICENSE$"
                     r"|(^|/)check_words\.py$|^docs/glossary\.md$")
C_LIKE = (".hpp", ".cpp", ".h", ".c", ".mjs", ".mts", ".js", ".ts", ".cs", ".css")
C_TOKEN = re.compile(r"""(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>R"(?P<raw>[^(\s]{0,16})\(.*?\)(?P=raw)"|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`)"""
                     r"""|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
HASH_TOKEN = re.compile(r'''(?P<string>""".*?"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|(?P<comment>(?:^|(?<=\s))\#(?!!)[^\n]*)''',
                        re.DOTALL | re.MULTILINE)


def blank(text):
    """Replaces all characters except line breaks by spaces, so that line numbers stay correct."""
    return re.sub(r"[^\n]", " ", text)


def prose_of(name, text):
    """Returns the prose of a file, with everything else replaced by spaces."""
    extension = os.path.splitext(name)[1]
    if extension == ".md":
        text = re.sub(r"^```.*?^```", lambda m: blank(m[0]), text, flags=re.DOTALL | re.MULTILINE)
        return re.sub(r"`[^`]*`", lambda m: blank(m[0]), text)
    if extension == ".html":
        return re.sub(r"<(script|style).*?</\1>|<[^>]*>", lambda m: blank(m[0]), text, flags=re.DOTALL)
    token = C_TOKEN if extension in C_LIKE else HASH_TOKEN
    out, at = [], 0
    for match in token.finditer(text):
        out.append(blank(text[at:match.start()]))
        at = match.end()
        part = match[0]
        is_comment = match["comment"] is not None
        if not is_comment and len(re.findall(r"[A-Za-z]{2,}", part)) < 3:
            part = blank(part)
        if is_comment or not part.startswith("`"):
            part = re.sub(r"`[^`]*`", lambda m: blank(m[0]), part)
        out.append(part)
    out.append(blank(text[at:]))
    return "".join(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", type=int, default=0)
    parser.add_argument("directory", nargs="?", default=".")
    args = parser.parse_args()
    names = subprocess.run(["git", "-C", args.directory, "ls-files"], capture_output=True, text=True, check=True).stdout
    files, words_all, hits_all, problems = [], 0, 0, []
    folders = collections.defaultdict(lambda: [0, 0])
    for name in names.split("\n"):
        if not name or SKIPPED.search(name):
            continue
        try:
            with open(os.path.join(args.directory, name), encoding="utf-8") as file:
                prose = prose_of(name, file.read())
        except (UnicodeDecodeError, IsADirectoryError):
            continue
        words = len(re.findall(r"[A-Za-z][A-Za-z'-]+", prose))
        hits = [(prose.count("\n", 0, m.start()) + 1, m[0]) for m in FORBIDDEN.finditer(prose)]
        words_all += words
        hits_all += len(hits)
        folder = folders[name.split("/")[0] if "/" in name else "."]
        folder[0] += words
        folder[1] += len(hits)
        files.append((len(hits), words, name, hits))
        if words >= FILE_WORDS_MIN and 1000 * len(hits) > FILE_RATE_MAX * words:
            problems.append(f"{name}: {1000 * len(hits) / words:.1f} per 1,000 words (at most {FILE_RATE_MAX})")
    if args.list:
        for folder, (words, hits) in sorted(folders.items()):
            print(f"{folder:12} {words:7} words {hits:5} hits {1000 * hits / max(words, 1):6.2f} per 1,000")
        for count, words, name, hits in sorted(files, reverse=True)[:args.list]:
            for line, word in hits:
                print(f"{name}:{line}: {word}")
    rate = 1000 * hits_all / max(words_all, 1)
    print(f"{words_all} words of prose, {hits_all} that the glossary replaces: {rate:.2f} per 1,000 (at most {RATE_MAX})")
    for problem in problems:
        print(problem)
    return 1 if problems or rate > RATE_MAX else 0


if __name__ == "__main__":
    sys.exit(main())
