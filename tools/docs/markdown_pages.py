#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""Converts Markdown as code-hosting pages read it into Markdown as MkDocs reads it.

The two differ in nested lists (MkDocs needs four spaces per level), in lists and tables directly after a paragraph
(MkDocs needs an empty line), in the ids of headings, and in escaped bars in the code of a table.
"""
import re

FENCE = re.compile(r"^ *(`{3,}|~{3,})")
CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
# The end of a link, with its text if that is the name of a page.
LINK = re.compile(r"(?P<text>\[[\w./-]+\.md)?\]\((?P<target>[^()\s]+)(?P<title>(?:\s+\"[^\"]*\")?\))")
ITEM = re.compile(r"^( *)([-*+]|\d{1,9}[.)])( +)(?=\S)")
HEADING = re.compile(r"^(#{1,6}) +(.+?) *$")


def blocks_of(text):
    """Yields (is_code, first line number, text) for the fenced blocks of a text and for what is between them."""
    lines, fence, first = [], None, 1
    for number, line in enumerate(text.split("\n"), 1):
        match = FENCE.match(line)
        if fence is None and match:
            if lines:
                yield False, first, "\n".join(lines)
            lines, fence, first = [], match[1], number
        lines.append(line)
        if fence is not None and number > first and match and line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            yield True, first, "\n".join(lines)
            lines, fence, first = [], None, number + 1
    if lines:
        yield fence is not None, first, "\n".join(lines)


def with_links(text, link):
    """Replaces each link target by link(target, line number), which returns the new target and the title of a page or
    None. The title replaces a text that is the name of the page."""

    def link_of(match, line):
        target, title = link(match["target"], line)
        named = match["text"] or ""
        return f"{'[' + title if named and title else named}]({target}{match['title']}"

    def outside_of_code(paragraph, first):
        def replaced(begin, end):
            return LINK.sub(lambda m: link_of(m, first + paragraph.count("\n", 0, begin + m.start())), paragraph[begin:end])
        out, at = "", 0
        for match in CODE_SPAN.finditer(paragraph):
            out += replaced(at, match.start()) + match[0]
            at = match.end()
        return out + replaced(at, len(paragraph))

    blocks = []
    for is_code, first, block in blocks_of(text):
        if not is_code:
            # Backticks are paired within a paragraph.
            parts = re.split(r"(\n[ \n]*\n)", block)
            for index, part in enumerate(parts):
                parts[index] = outside_of_code(part, first)
                first += part.count("\n")
            block = "".join(parts)
        blocks.append(block)
    return "\n".join(blocks)


def slug_of(heading, used):
    """Returns the id that code-hosting pages give a heading, and adds it to `used`, the ids of the page so far."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    text = re.sub(r"[^\w\- ]", "", text.replace("`", "").lower()).replace(" ", "-")
    slug, number = text, 0
    while slug in used:
        number += 1
        slug = f"{text}-{number}"
    used.add(slug)
    return slug


def with_heading_ids(text):
    used, blocks = set(), []
    for is_code, _, block in blocks_of(text):
        if not is_code:
            block = "\n".join(f"{m[1]} {m[2]} {{#{slug_of(m[2], used)}}}" if (m := HEADING.match(line)) else line
                              for line in block.split("\n"))
        blocks.append(block)
    return "\n".join(blocks)


class ListIndents:
    """Emits the lines of a text with four spaces for each level of a list."""

    def __init__(self):
        self.out = []
        self.levels = []  # for each open item: the column of its text
        self.previous = ""

    def close_to(self, indent):
        while self.levels and indent < self.levels[-1]:
            self.levels.pop()

    def emit(self, text):
        self.out.append("    " * len(self.levels) + text if text else "")

    def separate(self):
        if self.previous.strip() and self.out[-1]:
            self.out.append("")

    def code(self, block):
        lines = block.split("\n")
        self.close_to(len(lines[0]) - len(lines[0].lstrip()))
        column = self.levels[-1] if self.levels else 0
        for line in lines:
            self.emit(line[min(column, len(line) - len(line.lstrip())):])
        self.previous = ""

    def line(self, line):
        text = line.lstrip()
        indent = len(line) - len(text)
        item = ITEM.match(line)
        if item and not self.levels and (indent > 3 or (self.previous.strip() and item[2][0].isdigit() and item[2][:-1] != "1")):
            item = None  # indented code, or a sentence with a number at the start of a line
        if item:
            was_in_list = bool(self.levels)
            self.close_to(indent)
            if not was_in_list:
                self.separate()
            self.emit(text)
            self.levels.append(item.end())
        elif not text:
            self.emit("")
        elif self.previous.strip() and not HEADING.match(line):
            if text.startswith("|") and not self.previous.lstrip().startswith("|"):
                self.separate()
            self.emit(text if self.levels else line)
        else:
            self.close_to(indent)
            self.emit(line[self.levels[-1]:] if self.levels else line)
        self.previous = line


def with_plain_lists(text):
    lists = ListIndents()
    for is_code, _, block in blocks_of(text):
        if is_code:
            lists.code(block)
        else:
            for line in block.split("\n"):
                lists.line(line)
    return "\n".join(lists.out)


def with_plain_bars(text):
    """Removes the escapes of bars in the code of tables, because MkDocs needs none there."""
    blocks = []
    for is_code, _, block in blocks_of(text):
        if not is_code:
            block = "\n".join(CODE_SPAN.sub(lambda m: m[0].replace("\\|", "|"), line) if line.lstrip().startswith("|") else line
                              for line in block.split("\n"))
        blocks.append(block)
    return "\n".join(blocks)


def converted(text, link):
    """Returns the text of a page for MkDocs. `link`: see with_links."""
    return with_plain_bars(with_plain_lists(with_heading_ids(with_links(text, link))))
