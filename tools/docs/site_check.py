#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""site_check.py SITE: checks a built site. Each internal link leads to a file and each anchor to an element; nothing is
loaded from the network. Prints the external links without fetching them. Fails if something is wrong.
"""
import html.parser
import os
import re
import sys
import urllib.parse

# Tags and attributes that a browser loads by itself.
LOADED = {("img", "src"), ("script", "src"), ("iframe", "src"), ("source", "src"), ("link", "href"), ("object", "data")}
NOT_LOADED = {"canonical", "next", "prev", "alternate"}  # values of rel
# Folder of the API reference. Doxygen's index pages link to undocumented members, such as comparison operators, that have
# no anchor. Links within this folder are checked only for the file.
GENERATED = "api"
STYLE_URL = re.compile(r"@import\s+[\"']([^\"']+)|url\(\s*[\"']?([^\"')]+)")


class Page(html.parser.HTMLParser):
    """The ids and links of a page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.ids, self.links = set(), []  # links: (target, line, whether a browser loads it)
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids.update(value for value in (values.get("id"), values.get("name") if tag == "a" else None) if value)
        for name, value in values.items():
            is_loaded = (tag, name) in LOADED and (tag != "link" or not NOT_LOADED & set((values.get("rel") or "").split()))
            if value and (is_loaded or (tag in ("a", "area") and name == "href")):
                self.links.append((value.strip(), self.getpos()[0], is_loaded))


class SiteCheck:
    """Checks all pages below a folder. `problems` and `external` have the result."""

    def __init__(self, site):
        self.site = os.path.abspath(site)
        self.problems, self.external = [], {}
        self.links = 0
        self.pages = {}

    def page(self, path):
        if path not in self.pages:
            with open(path, encoding="utf-8", errors="replace") as file:
                self.pages[path] = Page(file.read())
        return self.pages[path]

    def is_generated(self, path):
        return path.startswith(os.path.join(self.site, GENERATED) + os.sep)

    def check_link(self, page, target, where, is_loaded):
        url = urllib.parse.urlsplit(target)
        if url.scheme in ("http", "https") or url.netloc:
            if is_loaded:
                self.problems.append(f"{where}: loads {target} from the network")
            else:
                self.external.setdefault(target, where)
            return
        if url.scheme:
            return
        self.links += 1
        path = urllib.parse.unquote(url.path)
        base = self.site if path.startswith("/") else os.path.dirname(page)
        file = os.path.normpath(os.path.join(base, path.lstrip("/"))) if path else page
        if os.path.isdir(file):
            file = os.path.join(file, "index.html")
        if not (file + os.sep).startswith(self.site + os.sep):
            self.problems.append(f"{where}: {target} is outside of the site")
        elif not os.path.isfile(file):
            self.problems.append(f"{where}: {target} does not exist")
        elif url.fragment and file.endswith(".html") and not (self.is_generated(page) and self.is_generated(file)):
            anchor = urllib.parse.unquote(url.fragment)
            if anchor not in self.page(file).ids and url.fragment not in self.page(file).ids:
                self.problems.append(f"{where}: {target} has no such anchor")

    def check(self):
        for folder, _, names in sorted(os.walk(self.site)):
            for name in sorted(names):
                path = os.path.join(folder, name)
                shown = os.path.relpath(path, self.site)
                if name.endswith(".html"):
                    for target, line, is_loaded in self.page(path).links:
                        self.check_link(path, target, f"{shown}:{line}", is_loaded)
                elif name.endswith(".css"):
                    with open(path, encoding="utf-8", errors="replace") as file:
                        for match in STYLE_URL.finditer(file.read()):
                            if re.match(r"(https?:)?//", match[1] or match[2]):
                                self.problems.append(f"{shown}: loads {match[1] or match[2]} from the network")
        return self

    def report(self):
        """Prints the result. Returns whether there are no problems."""
        for target, where in sorted(self.external.items()):
            print(f"external: {target} ({where})")
        for problem in dict.fromkeys(self.problems):
            print(problem, file=sys.stderr)
        print(f"{len(self.pages)} pages, {self.links} internal links, {len(self.external)} external links, {len(self.problems)} wrong")
        return not self.problems


if __name__ == "__main__":
    sys.exit(0 if SiteCheck(sys.argv[1]).check().report() else 1)
