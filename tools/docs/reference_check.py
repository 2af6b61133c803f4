#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""Checks that reference pages have each figure, code and constant of the sources, and name no constant that does not exist."""
import os
import re


def read(path):
    with open(path, encoding="utf-8") as file:
        return re.sub(r"//[^\n]*", "", file.read()) if path.endswith((".hpp", ".cpp")) else file.read()


def fields_of(text, struct):
    """Returns the names of the fields of a struct without member functions."""
    body = re.search(rf"^struct {struct} {{\n(.*?)^}};", text, re.DOTALL | re.MULTILINE)
    return re.findall(r"^ +[\w:<>]+ (\w+)(?: = [^;]*)?;", body[1], re.MULTILINE) if body else []


def codes_of(text, enum):
    """Returns (name, number) of the enumerators of an enum with numbers."""
    body = re.search(rf"^enum class {enum} : [\w:]+ {{\n(.*?)^}};", text, re.DOTALL | re.MULTILINE)
    return re.findall(r"^ +(\w+) = (\d+),", body[1], re.MULTILINE) if body else []


def keys_of(text):
    """Returns the names in lists of the form {"name", value}."""
    return re.findall(r"[{ ]{\"([a-z_0-9.]+)\",\s", text)


# Page, source, how to find the names in it, and the struct or the first and last text of the part that is read.
FIGURES = [
    ("docs/metrics.md", "include/purview/server.hpp", fields_of, "ServerStats"),
    ("docs/metrics.md", "include/purview/server.hpp", fields_of, "SessionStats"),
    ("docs/metrics.md", "include/purview/client.hpp", fields_of, "ClientStats"),
    ("docs/metrics.md", "include/purview/prediction.hpp", fields_of, "PredictionStats"),
    ("docs/metrics.md", "src/server/server_counters.cpp", keys_of, None),
    ("docs/metrics.md", "apps/purview/losses.cpp", keys_of, None),
    ("docs/metrics.md", "apps/purview/bot_report.cpp", keys_of, ("json json_of", "return out;")),
    ("docs/metrics.md", "apps/purview/demo.cpp", keys_of, ("return {{\"machine\"", "{\"holds\"")),
    ("docs/metrics.md", "apps/purview/demo.cpp", keys_of, ("json report{{", "report.update")),
]
CODES = [
    ("docs/error-codes.md", "include/purview/status.hpp", "Status"),
    ("docs/error-codes.md", "include/purview/connection.hpp", "RefuseReason"),
    ("docs/error-codes.md", "include/purview/connection.hpp", "CloseReason"),
    ("docs/error-codes.md", "include/purview/rpc.hpp", "CullReason"),
]
# Constants that docs/limits.md names, and those that need no row of their own.
CONSTANTS = [
    ("limits", "include/purview/limits.hpp", {"protocol_version", "message_overhead_bytes"}),
    ("Schema", "include/purview/schema.hpp", {"component_words_max"}),
]


def figure_problems(root):
    for page, source, names_of, part in FIGURES:
        if not os.path.isfile(os.path.join(root, page)):
            continue
        text, shown = read(os.path.join(root, source)), read(os.path.join(root, page))
        if isinstance(part, tuple):
            begin = text.find(part[0])
            text = text[begin:text.find(part[1], begin) + 1]
        names = names_of(text, part) if isinstance(part, str) else names_of(text)
        if not names:
            yield f"tools/docs/reference_check.py finds no names in {source}"
        for name in names:
            if f"`{name}`" not in shown:
                yield f"{page} lacks `{name}` of {source}"


def code_problems(root):
    for page, source, enum in CODES:
        if not os.path.isfile(os.path.join(root, page)):
            continue
        shown = read(os.path.join(root, page))
        codes = codes_of(read(os.path.join(root, source)), enum)
        if not codes:
            yield f"tools/docs/reference_check.py finds no codes of {enum} in {source}"
        for name, number in codes:
            if f"| {number} | `{name}` |" not in shown:
                yield f"{page} lacks the row | {number} | `{name}` | of {enum}"


def constant_problems(root):
    page = os.path.join(root, "docs/limits.md")
    for scope, source, unlisted in CONSTANTS if os.path.isfile(page) else []:
        named = set(re.findall(rf"`{scope}::(\w+)`", read(page)))
        known = set(re.findall(r"constexpr [\w:]+ (\w+) =", read(os.path.join(root, source))))
        for name in sorted(known - named - unlisted):
            yield f"docs/limits.md lacks `{scope}::{name}`"
        for name in sorted(named - known):
            yield f"docs/limits.md names {scope}::{name}, which {source} does not have"


def problems_of(root):
    return [*figure_problems(root), *code_problems(root), *constant_problems(root)]
