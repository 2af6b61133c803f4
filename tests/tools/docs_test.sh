#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# Tests the scripts of ./dev docs. They rewrite pages for the site, and report wrong pages, links, decision records and
# names in reference pages. Needs no packages.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
tools=$root/tools/docs
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "FAILED: $*"; cat out 2>/dev/null || true; exit 1; }

# -- pages --------------------------------------------------------------------------------------------------
mkdir -p docs/adr docs/help docs/images tools/docs src include/purview
printf 'nav:\n  - Start: index.md\n  - What: overview.md\n  - Guide: guide.md\n  - ADRs: adr/index.md\n  - "1. A: b": adr/0001-a.md\n' \
    >tools/docs/mkdocs.yml
printf '# R\n\n[guide](docs/guide.md#two--words), [decisions](docs/adr).\n' >README.md
printf '# I\n\n[guide.md](guide.md), [the guide](guide.md)\n' >docs/index.md
cat >docs/guide.md <<'TXT'
# Guide

Text
- item
  goes on
  - inner
    ```sh
    # no heading
    ```

1. one

   | a | b |
   |---|---|
   | `x\|y` | z |

## Two + words

[code](../src/a.cpp), [header](../include/purview/a.hpp), [folder](../src), [site](https://example.org/a),
`[not](a/link.md)` [anchor](#guide) ![image](images/a.png) [readme](../README.md)

[help/a.txt](help/a.txt)
TXT
printf 'usage: a\n' >docs/help/a.txt
printf 'x' >docs/images/a.png
printf 'int a; // ```\n' >src/a.cpp
printf 'int b;\n' >include/purview/a.hpp
printf '# D\n\n| 1 | [A: b](0001-a.md) | accepted | 2026-01-02 |\n' >docs/adr/README.md
printf '# 1. A: b\n\nStatus: accepted\nDate: 2026-01-02\n' >docs/adr/0001-a.md
pages() { python3 "$tools/build_docs.py" --pages-only --root "$dir" >out 2>&1; }
has() { grep -qF -- "$2" "build/docs/pages/$1" || { cat "build/docs/pages/$1"; fail "$1 lacks: $2"; }; }
wrong() { ! pages || fail "accepted: $1"; grep -qF -- "$1" out || fail "not reported: $1"; }
pages || fail 'correct pages are refused'
has overview.md '[guide](guide.md#two--words), [decisions](adr/index.md)'
has overview.md '# R {#r}'
has guide.md '## Two + words {#two--words}'
has index.md '[Guide](guide.md), [the guide](guide.md)'
has guide.md '[code](source/src/a.cpp.md), [header](source/include/purview/a.hpp.md), [folder](source/src/index.md)'
has guide.md '[site](https://example.org/a)'
has guide.md '`[not](a/link.md)` [anchor](#guide) ![image](images/a.png) [readme](overview.md)'
has guide.md '    - inner'
has guide.md '        # no heading'
has guide.md '    | `x|y` | z |'
has guide.md 'usage: a'
[ "$(sed -n '/^Text/{n;p}' build/docs/pages/guide.md)" = '' ] || fail 'no empty line before a list'
has source/src/a.cpp.md '````cpp'
has source/src/index.md '[a.cpp](a.cpp.md)'

printf '# N\n' >docs/new.md
wrong 'docs/new.md is not in the navigation: add new.md'
rm docs/new.md
printf '  - Gone: gone.md\n' >>tools/docs/mkdocs.yml
wrong 'tools/docs/mkdocs.yml: there is no page gone.md'
sed -i '/gone/d' tools/docs/mkdocs.yml
printf '\n[a](../src/b.cpp)\n' >>docs/guide.md
wrong "docs/guide.md:$(wc -l <docs/guide.md): there is no ../src/b.cpp"
sed -i '$d' docs/guide.md
sed -i '/^Date/d' docs/adr/0001-a.md
wrong 'docs/adr/0001-a.md: it needs a line'
printf 'Date: 2026-01-03\n' >>docs/adr/0001-a.md
wrong '| 1 | [A: b](0001-a.md) | accepted | 2026-01-03 |'
sed -i 's/2026-01-03/2026-01-02/' docs/adr/0001-a.md
pages || fail 'the repaired pages are refused'

# -- reference pages ----------------------------------------------------------------------------------------
mkdir -p include/purview
printf 'enum class Status : std::uint8_t {\n    ok = 0,  ///< a\n    gone = 1,\n};\n' >include/purview/status.hpp
for enum in RefuseReason CloseReason; do printf 'enum class %s : std::uint8_t {\n    none = 0,\n};\n' $enum; done >include/purview/connection.hpp
printf 'enum class CullReason : std::uint8_t {\n    none = 0,\n};\n' >include/purview/rpc.hpp
printf '# E\n\n| 0 | `ok` |\n| 0 | `none` |\n' >docs/error-codes.md
printf '  - Codes: error-codes.md\n' >>tools/docs/mkdocs.yml
wrong 'docs/error-codes.md lacks the row | 1 | `gone` | of Status'
printf '| 1 | `gone` |\n' >>docs/error-codes.md
pages || fail 'a complete reference page is refused'

# -- links of the built site --------------------------------------------------------------------------------
mkdir -p site/b
site() { python3 "$tools/site_check.py" site >out 2>&1; }
broken() { ! site || fail "accepted: $1"; grep -qF -- "$1" out || fail "not reported: $1"; }
printf '<p id="x"><a href="b/">b</a> <a href="b/index.html#y">c</a> <a href="#x">d</a> <a href="https://example.org/">e</a>\n' >site/index.html
printf '<a name="y"></a><img src="../a.png"><a href="/index.html#x">f</a>\n' >site/b/index.html
printf x >site/a.png
site || fail 'a correct site is refused'
grep -q '^external: https://example.org/ (index.html:1)$' out || fail 'the external link is not listed'
grep -q '5 internal links, 1 external links, 0 wrong' out || fail 'wrong numbers of links'
printf '<a href="b/index.html#z">\n' >>site/index.html
broken 'index.html:2: b/index.html#z has no such anchor'
printf '\n<a href="d.html">\n<a href="../../out">\n' >site/b/c.html
broken 'b/c.html:2: d.html does not exist'
broken 'b/c.html:3: ../../out is outside of the site'
mkdir site/api
printf '<a href="index.html#none">\n<a href="../index.html#none">\n' >site/api/index.html
broken 'api/index.html:2: ../index.html#none has no such anchor'
if grep -q 'api/index.html:1' out; then fail 'an anchor within the API reference is checked'; fi
printf '<script src="https://example.org/a.js"></script>\n' >site/b/c.html
broken 'b/c.html:1: loads https://example.org/a.js from the network'
printf 'a { background: url(//example.org/a.png) }\n' >site/a.css
broken 'a.css: loads //example.org/a.png from the network'
echo passed
