#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""Writes the pages of the documentation site in the form that MkDocs reads.

Pages of the site are docs/**/*.md and the documents in the root of the repository. A link to another file of the
repository becomes a link to a page that shows this file. A link to a public header becomes a link to the API reference.
So each link works on code-hosting pages and on the site.
"""
import os
import re
import shutil
import xml.etree.ElementTree

import markdown_pages

# Documents in the root of the repository, and their names on the site.
ROOT_PAGES = {
    "README.md": "overview.md",
    "ARCHITECTURE.md": "architecture.md",
    "PROTOCOL.md": "protocol.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "CHANGELOG.md": "changelog.md",
}
# Folders of headers: their index is that of the API reference.
API_FOLDERS = ("include", "include/purview")
LANGUAGES = {".hpp": "cpp", ".cpp": "cpp", ".h": "c", ".c": "c", ".mjs": "js", ".mts": "ts", ".js": "js", ".css": "css",
             ".html": "html", ".json": "json", ".toml": "toml", ".py": "python", ".sh": "sh"}
# A paragraph that is only a link to a help text: the site shows the text there.
HELP = re.compile(r"^\[[^\]\n]*\]\((help/[\w-]+\.txt)\)$", re.MULTILINE)
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:")
ADR_NAME = re.compile(r"(\d{4})-[a-z0-9-]+\.md")
ADR_ROW = re.compile(r"^\| (\d+) \| \[(.+)\]\(([^)]+)\) \| (.+) \| (\S+) \|$", re.MULTILINE)
ADR_STATUS = re.compile(r"^Status: (proposed|accepted|rejected|superseded by \[?ADR \d+.*)$", re.MULTILINE)
ADR_DATE = re.compile(r"^Date: (\d{4}-\d{2}-\d{2})$", re.MULTILINE)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def api_pages(tag_file):
    """Returns the page of each header in the API reference, by its path in the repository, from Doxygen's tag file."""
    pages = {}
    for file in xml.etree.ElementTree.parse(tag_file).getroot().findall("compound[@kind='file']"):
        folder = (file.findtext("path") or "").replace("\\", "/")
        at = folder.rfind("include/")
        page = file.findtext("filename") or ""
        if at >= 0 and page:
            pages[folder[at:] + file.findtext("name")] = page if page.endswith(".html") else page + ".html"
    return pages


class Staging:
    """The pages of one build. `config`: the file with the navigation. `api` maps headers to pages of the API reference.
    `problems` has what is wrong."""

    def __init__(self, root, out, config, api):
        self.root, self.out, self.config, self.api = root, out, config, api
        navigation = re.split(r"^nav:\n", read(os.path.join(root, config)), flags=re.MULTILINE)[-1]
        self.listed = re.findall(r"^ +- (?:\"?(.*?)\"?: )?(\S+\.md)$", navigation, re.MULTILINE)
        self.titles = {page: title for title, page in self.listed}
        self.problems = []
        self.pages = dict(ROOT_PAGES)  # path in the repository: path on the site
        self.assets = []
        for folder, _, names in sorted(os.walk(os.path.join(root, "docs"))):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), root)
                if name == "README.md":
                    self.pages[path] = path.removeprefix("docs/").replace("README.md", "index.md")
                elif name.endswith(".md"):
                    self.pages[path] = path.removeprefix("docs/")
                else:
                    self.assets.append(path)
        self.pages = {path: page for path, page in self.pages.items() if os.path.isfile(os.path.join(root, path))}
        self.wanted = []  # files and folders that need a source page
        self.sources = {}

    def write(self, page, text):
        path = os.path.join(self.out, page)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def source_page(self, path):
        """Returns the page that shows a file or lists a folder."""
        if path not in self.sources:
            is_folder = os.path.isdir(os.path.join(self.root, path))
            self.sources[path] = f"source/{path}/index.md" if is_folder else f"source/{path}.md"
            self.wanted.append(path)
        return self.sources[path]

    def site_path_of(self, path):
        """Returns the path on the site for a path of the repository, or None if that does not exist."""
        full = os.path.join(self.root, path)
        if path in self.pages:
            return self.pages[path]
        if path in self.assets:
            return path.removeprefix("docs/")
        if path in self.api:
            return "api/" + self.api[path]
        if path in API_FOLDERS and self.api:
            return "api/index.html"
        if f"{path}/README.md" in self.pages:
            return self.pages[f"{path}/README.md"]
        return self.source_page(path) if not path.startswith("..") and os.path.exists(full) else None

    def link(self, path, page, target, line):
        """Returns the target on the site for a link in a page, and the title of the target in the navigation or None."""
        if SCHEME.match(target) or target.startswith("#"):
            return target, None
        name, hash_mark, anchor = target.partition("#")
        site_path = self.site_path_of(os.path.normpath(os.path.join(os.path.dirname(path), name)))
        if site_path is None:
            self.problems.append(f"{path}:{line}: there is no {target}")
            return target, None
        return os.path.relpath(site_path, os.path.dirname(page) or ".") + hash_mark + anchor, self.titles.get(site_path)

    def with_help(self, path, text):
        def shown(match):
            file = os.path.join(self.root, "docs", match[1])
            if not os.path.isfile(file):
                self.problems.append(f"{path}: there is no {match[1]}")
                return match[0]
            return f"```text\n{read(file).strip()}\n```"
        return HELP.sub(shown, text)

    def stage_page(self, path, page):
        text = read(os.path.join(self.root, path))
        if ADR_NAME.fullmatch(os.path.basename(path)):
            text = text.replace("\nDate:", "  \nDate:")  # a line of its own
        text = markdown_pages.converted(text, lambda target, line: self.link(path, page, target, line))
        self.write(page, self.with_help(path, text))

    def stage_source(self, path, page):
        full = os.path.join(self.root, path)
        title = f"# {path}\n\n"
        if os.path.isdir(full):
            names = [name for name in sorted(os.listdir(full)) if name[0] != "." and name not in ("build", "__pycache__")]
            rows = [f"- [{name}]({os.path.relpath(self.site_path_of(f'{path}/{name}'), os.path.dirname(page))})" for name in names]
            self.write(page, title + "\n".join(rows) + "\n")
            return
        try:
            text = read(full).rstrip("\n")
        except UnicodeDecodeError:
            self.write(page, f"{title}A binary file of {os.path.getsize(full):,} bytes.\n")
            return
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
        language = LANGUAGES.get(os.path.splitext(path)[1], "text")
        self.write(page, f"{title}{fence}{language}\n{text}\n{fence}\n")

    def stage(self):
        shutil.rmtree(self.out, ignore_errors=True)
        for path, page in self.pages.items():
            self.stage_page(path, page)
        for path in self.assets:
            target = os.path.join(self.out, path.removeprefix("docs/"))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(os.path.join(self.root, path), target)
        while self.wanted:  # the page of a folder links to pages of its files
            path = self.wanted.pop()
            self.stage_source(path, self.sources[path])

    def check_navigation(self):
        """Each page must be in the navigation once."""
        listed = [page for _, page in self.listed]
        names = {page: path for path, page in self.pages.items()}
        for page in sorted(set(names) - set(listed)):
            self.problems.append(f"{names[page]} is not in the navigation: add {page} to {self.config}")
        for page in sorted(set(listed)):
            if page not in names:
                self.problems.append(f"{self.config}: there is no page {page}")
            elif listed.count(page) > 1:
                self.problems.append(f"{self.config}: {page} is listed {listed.count(page)} times")

    def check_decisions(self):
        """Each decision record has a status and a date, and docs/adr/README.md lists it with both."""
        index = os.path.join(self.root, "docs/adr/README.md")
        rows = {row[2]: row for row in ADR_ROW.findall(read(index))} if os.path.isfile(index) else {}
        for path in sorted(self.pages):
            name = os.path.basename(path)
            if not path.startswith("docs/adr/") or name == "README.md":
                continue
            text = read(os.path.join(self.root, path))
            number, status, date = ADR_NAME.fullmatch(name), ADR_STATUS.search(text), ADR_DATE.search(text)
            if not number:
                self.problems.append(f"{path}: the name must be NNNN-words-of-the-title.md")
            elif not status or not date:
                self.problems.append(f"{path}: it needs a line 'Status: accepted' (proposed, rejected, superseded by ADR N) "
                                     "and a line 'Date: YYYY-MM-DD'")
            else:
                title = text.partition("\n")[0].removeprefix(f"# {int(number[1])}. ")
                expected = (str(int(number[1])), title, name, status[1], date[1])
                if rows.pop(name, None) != expected:
                    self.problems.append("docs/adr/README.md: it needs the row | {} | [{}]({}) | {} | {} |".format(*expected))
        self.problems += [f"docs/adr/README.md: there is no {name}" for name in sorted(rows)]
