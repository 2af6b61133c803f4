#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# check_scripts.sh DIRECTORY...: fails when JavaScript uses an API that Node 18 or browsers of the same age lack, or
# assigns to a property that is read-only in them. The comments name the Node release that added each API.
set -eu
newer='\.(with|toSorted|toReversed|toSpliced)\('                     # 20
newer="$newer|Array\.fromAsync|\.(isWellFormed|toWellFormed)\("      # 22, 20
newer="$newer|(Object|Map)\.groupBy|Promise\.(withResolvers|try)"    # 21, 22, 23
newer="$newer|\.(isSubsetOf|isSupersetOf|isDisjointFrom|symmetricDifference|intersection)\(|\.union\(|\.difference\("  # 22
newer="$newer|\.(values|keys|entries)\(\)\.(map|filter|take|drop|flatMap|reduce|toArray|forEach|some|every|find)\(|Iterator\.from"  # 22
newer="$newer|AbortSignal\.any|import\.meta\.(dirname|filename)|RegExp\.escape|Math\.sumPrecise|Uint8Array\.from(Base64|Hex)"  # 20 to 24
newer="$newer|with \{ *type:|\b(await )?using [a-z][A-Za-z]* ="      # 18.20 and 20; 24
newer="$newer|(^|[^.A-Za-z])(performance\.(now|timeOrigin)|navigator\.[a-zA-Z]+|globalThis\.(navigator|crypto)|crypto) = "  # read-only
found=$(grep -rnE --include='*.mjs' --include='*.js' --include='*.html' --exclude-dir=node_modules -e "$newer" "$@" | grep -vE '^[^:]*:[0-9]+: *(//|\*|/\*)' || true)
if [ -n "$found" ]; then
    printf '%s\n%s\n' "$found" "not available in Node 18 (Debian 12)"
    exit 1
fi
