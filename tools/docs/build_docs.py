#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""build_docs.py [--pages-only] [--root DIRECTORY]: builds the documentation site in build/docs/site. Use ./dev docs.

1. Doxygen writes the API reference from the comments in include/ (tools/docs/Doxyfile).
2. staging.py writes the pages to build/docs/pages, with links that work on the site.
3. MkDocs builds the site (tools/docs/mkdocs.yml). A warning is an error.
4. site_check.py checks each link of the site.

--pages-only stops after the second step and the checks of the navigation, link targets, decision records, and names in
reference pages. It needs no packages.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys

import reference_check
import site_check
import staging

DOXYFILE = "tools/docs/Doxyfile"
CONFIG = "tools/docs/mkdocs.yml"
# Folders that the search of the site leaves out.
NOT_SEARCHED = ("source/",)


def fail(what, problems=()):
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(f"build_docs.py: {what}")


def build_api(root, out):
    """Runs Doxygen. Returns the folder with its pages, and the page of each header."""
    print("API reference (build/docs/doxygen.log)", flush=True)
    shutil.rmtree(f"{out}/api", ignore_errors=True)
    os.makedirs(f"{out}/api")
    settings = f"@INCLUDE = {DOXYFILE}\nOUTPUT_DIRECTORY = build/docs/api\nGENERATE_HTML = YES\nHTML_OUTPUT = html\n" \
        "GENERATE_LATEX = NO\nGENERATE_TAGFILE = build/docs/api/headers.tag\n"
    with open(f"{out}/doxygen.log", "w", encoding="utf-8") as log:
        code = subprocess.run(["doxygen", "-"], input=settings, text=True, cwd=root, stdout=log, stderr=log).returncode
    if code != 0 or not os.path.isfile(f"{out}/api/html/index.html"):
        fail(f"doxygen {DOXYFILE} failed", staging.read(f"{out}/doxygen.log").splitlines()[-20:])
    return f"{out}/api/html", staging.api_pages(f"{out}/api/headers.tag")


def stage_pages(root, out, api):
    stage = staging.Staging(root, f"{out}/pages", CONFIG, api)
    stage.stage()
    stage.check_navigation()
    stage.check_decisions()
    problems = stage.problems + reference_check.problems_of(root)
    if problems:
        fail(f"{len(problems)} problems in the pages", problems)
    print(f"{len(stage.pages)} pages, {len(stage.sources)} source pages", flush=True)


def build_site(root):
    code = subprocess.run(["mkdocs", "build", "--quiet", "--strict", "--config-file", CONFIG], cwd=root).returncode
    if code != 0:
        fail("mkdocs failed")


def limit_search(index):
    data = json.loads(staging.read(index))
    data["docs"] = [doc for doc in data["docs"] if not doc["location"].startswith(NOT_SEARCHED)]
    with open(index, "w", encoding="utf-8") as file:
        json.dump(data, file, separators=(",", ":"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages-only", action="store_true")
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    args = parser.parse_args()
    root = os.path.abspath(args.root)
    out = os.path.join(root, "build/docs")
    os.makedirs(out, exist_ok=True)
    if args.pages_only:
        stage_pages(root, out, {})
        return
    api_folder, api = build_api(root, out)
    stage_pages(root, out, api)
    shutil.copytree(api_folder, f"{out}/pages/api")
    shutil.copy(os.path.join(root, "tools/docs/site.css"), f"{out}/pages/site.css")
    build_site(root)
    limit_search(f"{out}/site/search/search_index.json")
    if not site_check.SiteCheck(f"{out}/site").check().report():
        fail("links are broken: see above")
    print("build/docs/site/index.html; the search needs a web server: python3 -m http.server --bind 127.0.0.1 --directory build/docs/site")


if __name__ == "__main__":
    main()
