#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# need_test.sh: tests ./dev with missing packages and a fake apt-get, which only records its arguments.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/tree/packaging" "$dir/bin" "$dir/apt"
cp "$root/dev" "$dir/tree/"
fail() {
    echo "FAILED: $1"
    cat "$dir/out" "$dir/apt_calls" 2>/dev/null || true
    exit 1
}
cat >"$dir/tree/packaging/packages.txt" <<'TXT'
# a comment
[build]
Loom 2     | loom-of-no-machine          | loom-7 loom-9 loom
Thread     | sh                          | thread
Header     | no/such/header.hpp          | libno-dev
[test]
Shuttle?   | shuttle-of-no-machine       | shuttle
[boost]
Boost      | boost/beast.hpp             | libboost-dev
TXT
for tool in sh cat dirname sed tr mkdir rm id grep tail head cut printf; do
    path=$(command -v $tool)
    [ ! -x "$path" ] || ln -sf "$path" "$dir/bin/$tool"
done
printf '#!/bin/sh\necho 0\n' >"$dir/root_id"
rm -f "$dir/bin/id"
cp "$dir/root_id" "$dir/bin/id"
chmod +x "$dir/bin/id"
run() {
    code=0
    (cd "$dir/tree" && PATH=$1 ./dev "$2") >"$dir/out" 2>&1 </dev/null || code=$?
}

# Without apt-get: lists only the missing capabilities and their packages.
run "$dir/bin" demo
[ $code = 1 ] || fail "no apt-get: ends with $code"
grep -q 'Loom 2: loom-7 loom-9 loom' "$dir/out" || fail 'the missing capability is not named'
grep -q 'Header: libno-dev' "$dir/out" || fail 'the missing header is not named'
grep -q 'no apt-get' "$dir/out" || fail 'the reason is not named'
if grep -q Thread "$dir/out"; then fail 'an installed package is listed'; fi

# With apt-get: installs the first known package of each capability.
cat >"$dir/apt/apt-get" <<SH
#!/bin/sh
echo "\$*" >>"$dir/apt_calls"
case "\$*" in *install*) exit 7 ;; esac
SH
cat >"$dir/apt/apt-cache" <<'SH'
#!/bin/sh
case "$2" in loom-9 | loom | libno-dev | shuttle) echo "  Candidate: 1.0" ;; *) echo "  Candidate: (none)" ;; esac
SH
chmod +x "$dir"/apt/*
run "$dir/apt:$dir/bin" demo
[ $code = 1 ] || fail "an apt-get that fails: ends with $code"
grep -q 'install .* loom-9 libno-dev$' "$dir/apt_calls" || fail 'other packages were requested'
grep -q 'apt-get install loom-9 libno-dev failed' "$dir/out" || fail 'the failure is not reported'

# A package that only some tests need is reported, and the run continues (to the next missing thing).
sed -i '/Loom/d; /Header/d' "$dir/tree/packaging/packages.txt"
run "$dir/apt:$dir/bin" test
grep -q 'tests that need it are skipped' "$dir/out" || fail 'the missing package is not reported'
grep -q 'Shuttle: shuttle' "$dir/out" || fail 'the missing package is not named'
grep -q "$(printf 'Boost\\|boost\\|configuring')" "$dir/out" || fail 'the run did not continue'
echo passed
