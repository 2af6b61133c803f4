#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# The coverage script must not count an uncovered line as covered.
set -eu
script=$(cd "$(dirname "$0")/../../tools" && pwd)/coverage.py
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "FAILED: $*"; exit 1; }
cover() { python3 "$script" --lines lines.txt --results results.xml --program ./program --out coverage.md "$@" >out 2>&1; }
suite() { printf '<TestCase name="%s" testsuite="%s" filename="a.cpp" line="1"/>\n' "$1" "$2"; } # NAME IDS
program() { # a test program that lists the input
    { printf '#!/bin/sh\ncat <<XML\n<doctest>\n'; cat; printf '</doctest>\nXML\n'; } >program
    chmod +x program
}
test_case() { # NAME STATUS OUTPUT
    printf '<testcase name="%s" status="%s"><system-out>%s</system-out></testcase>\n' "$1" "$2" "$3"
}
doctest() { # CASES CHECKS FAILED: what doctest prints
    printf '[doctest] doctest version is "2.4.9"\n'
    printf '[doctest] test cases:   %s |   %s passed | 0 failed | 80 skipped\n' "$1" "$1"
    printf '[doctest] assertions: %s | %s passed | %s failed |\n' "$(($2 + $3))" "$2" "$3"
}
results() { { echo '<testsuite>'; cat; echo '</testsuite>'; } >results.xml; }
refused() { # WHAT [OPTION...]: the script must refuse the input with its own message
    what=$1
    shift
    if cover "$@"; then fail "accepted: $what"; fi
    grep -q '^coverage: ' out || fail "$what: $(cat out)"
}
row() { # LINE CELL: the document must have this cell for the line
    grep -q "^| $1 | .* | $2 |\$" coverage.md || fail "$1 is not '$2': $(grep "^| $1 " coverage.md)"
}

cat >lines.txt <<'TXT'
modules: near, far, not ours
due: near
source N: here
N1 | near | a check
N2 | near | no check
N3 | near | failed
N4 | near | skipped
N5 | near | a program
N6 | near | no test
N7 | near | nothing but a doctest that broke off
N8 | near | no case matched
N9 | near | failed, but may
N10 | near | a good test beside a bad one
N11 | far | not yet
N12 | far | early
N13 | not ours | never | because
source M: there
M1 | near | by a list
M2 | far | half | the other half
M3 | near | by a suite
M4 | near | by a suite that failed
M5 | near | in a suite that did not run
TXT
{
    suite 'a: by a suite' 'M3 N10'
    suite 'a: by a suite' ''
    suite 'a: broken (N3 N10)' M4
    suite 'a: did not run' M5
} | program
{
    test_case 'a: by a suite' run "$(doctest 2 4 0)"
    test_case 'a: N1 holds' run "$(doctest 1 7 0)"
    test_case 'a: empty (N2)' run "$(doctest 1 0 0)"
    test_case 'a: broken (N3 N10)' fail "$(doctest 1 3 1)"
    test_case 'a: without data (N4)' notrun "SKIPPED: $(doctest 1 3 0)"
    test_case 'cli: a program (N5)' run 'fine'
    test_case 'a: exits (N7)' run '[doctest] doctest version is "2.4.9"'
    test_case 'a: misnamed (N8)' run "$(doctest 0 0 0)"
    test_case 'a: may fail (N9)' run "$(doctest 1 3 1)"
    test_case 'a: a | good one (N10, M1)' run "$(doctest 1 1 0)"
    test_case 'a: early (N12)' run "$(doctest 1 1 0)"
    test_case 'a: of -N6, xN6, N6x and n6' run "$(doctest 1 1 0)"
} | results
cover --checks || fail "without --require it must only write: $(cat out)"
row N1 'a: N1 holds'
row N5 'cli: a program (N5)'
row N10 'a: a \\| good one (N10, M1)<br>a: by a suite'
row M3 'a: by a suite'
row M1 'a: a \\| good one (N10, M1)'
row N12 'a: early (N12)'
for open in N2 N3 N4 N6 N7 N8 N9 M4 M5; do row $open '\*\*open\*\*'; done
row N11 later
row N13 'not ours'
grep -q '^| all | 18 | 6 | 9 | 2 | 1 |$' coverage.md || fail "the sums: $(grep '^| all' coverage.md)"
grep -q '^| M2 | half (in part) | the other half |$' coverage.md || fail 'the reason of a partly covered line is missing'
grep -q '^N1: 7 checks' out || fail 'the number of checks is missing'
grep -q '7 passed\|[0-9] checks' coverage.md && fail 'the document contains a number of checks'

cover --check || fail 'the same run makes a different document'
cover --require near && fail '--require accepts open lines'
for open in N2 N3 N4 N6 N7 N8 N9 M4 M5; do grep -q "^open: $open " out || fail "--require does not list $open"; done
[ "$(grep -c '^open: ' out)" = 9 ] || fail '--require lists lines that are covered or of another module'
cover --require far && fail 'a later line is not open although its module is required'
refused 'an unknown module' --require nowhere

test_case 'b: second (N1)' run "$(doctest 1 1 0)" >one
test_case 'a: first (N1)' run "$(doctest 1 1 0)" >two
cat one two | results
cover || fail "two tests of a line: $(cat out)"
row N1 'a: first (N1)<br>b: second (N1)'
cat two one | results
cover --check || fail 'the order of a run changes the document'

echo '# stale' >coverage.md
cover --check && fail 'a document of another run passed'
[ "$(cat coverage.md)" = '# stale' ] || fail '--check wrote'

suite 'a: typing error' N99 | program
test_case 'a: typing error' run "$(doctest 1 1 0)" | results
refused 'a suite with the id of an unknown line'
suite 'a: N1 holds' '' | program
test_case 'a: typing error (N99)' run "$(doctest 1 1 0)" | results
refused 'a test name with the id of an unknown line'
printf '' | results
refused 'a run without tests'
echo '<testsuite>' >results.xml
refused 'a truncated file'
rm results.xml
refused 'a missing run'
test_case 'a: N1 holds' run "$(doctest 1 7 0)" | results
printf '' | program
refused 'a program without tests'
printf '#!/bin/sh\nexit 1\n' >program
refused 'a program that fails'
rm program
refused 'a missing program'
suite 'a: N1 holds' '' | program
for bad in 'N2 | near | one left out' 'N1 | attic | no such module' 'N1 | not ours | no reason' 'N1 | near' \
    'N1 | near | one two three four five six seven eight nine'; do
    printf 'modules: near, not ours\ndue: near\nsource N: here\n%s\n' "$bad" >lines.txt
    refused "$bad"
done
printf 'modules: near, not ours\ndue: near\nsource N: here\nN1 | near | all of it\n' >lines.txt
cover --require near || fail "nothing is open: $(cat out)"
echo passed
