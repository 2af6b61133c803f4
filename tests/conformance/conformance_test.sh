#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# conformance_test.sh CASE PROGRAM [INTACT_PROGRAM]: records a run, replays it, and decodes it with
# tools/conformance/decode.py. Both must refuse the recording after a bit has changed. INTACT_PROGRAM: a build without
# fault injection, for the case faulty_server.
set -eu
case_name=$1
program=$2
tools=$(cd "$(dirname "$0")/../../tools/conformance" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export PYTHONDONTWRITEBYTECODE=1

# run EXPECTED_CODE COMMAND...
run() {
    expected=$1
    shift
    code=0
    timeout 100 "$@" >"$dir/out" 2>"$dir/err" </dev/null || code=$?
    if [ "$code" != "$expected" ]; then
        echo "FAILED: '$*' ended with $code, not $expected"
        cat "$dir/out" "$dir/err"
        exit 1
    fi
}
in_output() {
    if ! grep -q -- "$1" "$dir/out" "$dir/err"; then
        echo "FAILED: the output lacks: $1"
        cat "$dir/out" "$dir/err"
        exit 1
    fi
}
# damaged WHAT REPLAY_CODE DECODE_CODE: damages one part of the recording and checks both exit codes.
damaged() {
    python3 "$here/damage.py" "$dir/recording" "$dir/damaged" "$1"
    run "$2" $replay "$dir/damaged"
    run "$3" python3 "$tools/decode.py" "$dir/damaged" --max-damaged "$damaged_max"
}

case $case_name in
sim)
    # Each of the three seeds has another byte budget.
    replay="$program --replay"
    for seed in 5 3 1; do
        run 0 "$program" --seed $seed --minutes 0.16 --clients 12 --small --record "$dir/recording"
        run 0 $replay "$dir/recording"
        run 0 python3 "$tools/decode.py" "$dir/recording" --min-datagrams 2000 --min-sessions 12 \
            --min-snapshots 1000 --min-enters 1000 --min-updates 10000 --min-leaves 400 --min-digests 500 \
            --min-references 100 --min-unnamed 5 --min-texts 2000 --min-rotations 3000 --min-ranged 3000 \
            --min-gained 300 --min-lost 300 --min-withheld 100 --min-differences 3000 --min-extrapolated 6000 --min-kept 300 --min-resumed 100 --min-ended 20 \
            --distinct-calls --idle-end --min-unreliable 400 --min-unordered 400 --min-ordered 400 --min-ghostless 500 \
            --min-repeated 80 --min-shared 500 --min-member-maps 100 --min-waiting 2 --min-to-server 120 --min-commands 40 --min-views 9 --min-refused 1 \
            --min-spawned 50 --min-owned 5 --min-frames 1500 --min-repeated-frames 8000 --min-parts 800 --min-starved 100 \
            --min-corrections 25 --min-corrected-groups 25
        cat "$dir/out"
        voids=$((${voids:-0} + $(sed 's/.* \([0-9]*\) voids.*/\1/' "$dir/out")))
    done
    if [ "$voids" -lt 5 ]; then
        echo "FAILED: only $voids RPC numbers were voided"
        exit 1
    fi
    # Damage is also detected in a short recording.
    run 0 "$program" --seed 1 --minutes 0.05 --clients 12 --small --record "$dir/recording"
    run 0 python3 "$tools/decode.py" "$dir/recording"
    damaged_max=$(sed 's/.* \([0-9]*\) damaged.*/\1/' "$dir/out")
    damaged sent 3 1
    damaged received 3 1
    damaged value 3 1
    in_output "the client's digest is"
    damaged bit 2 1
    damaged cut 2 2
    damaged magic 2 2
    damaged length 2 2
    # A recording with too few digests is not accepted.
    run 1 python3 "$tools/decode.py" "$dir/recording" --min-digests 100000000
    in_output "too few digests"
    ;;
demo)
    run 0 "$program" demo --port 0 --bots 12 --seconds 3 --loss 0.03 --jitter 30 --record "$dir/recording"
    replay="$program replay"
    run 0 $replay "$dir/recording"
    run 0 python3 "$tools/decode.py" "$dir/recording" --max-damaged 0 --min-datagrams 200 \
        --min-sessions 12 --min-snapshots 50 --min-enters 300 --min-commands 1 --min-digests 10 \
        --min-views 10
    cat "$dir/out"
    damaged_max=0
    damaged sent 3 1
    in_output "datagram .* bit "
    damaged received 3 1
    damaged bit 2 1
    damaged cut 2 2
    printf 'name = "other"\n[map]\nfile = "m.json"\n' >"$dir/other.toml"
    run 2 $replay "$dir/recording" --world "$dir/other.toml"
    ;;
faulty_server)
    # Clients report their states after a wrong digest. A server without the injected fault sends different bytes.
    run 3 "$program" demo --check --no-pace --port 0 --bots 5 --seconds 6 --break field --record "$dir/recording"
    # A flipped bit results in numbers that no server may send.
    run 1 python3 "$tools/decode.py" "$dir/recording"
    in_output "number .* exceeds the maximum"
    run 0 python3 "$tools/decode.py" "$dir/recording" --faulty-server --min-digests 10 --min-states 1
    cat "$dir/out"
    run 3 "$3" replay "$dir/recording"
    in_output "differs at byte"
    ;;
inputs)
    replay=true  # no other program has this game
    run 0 env PURVIEW_RECORDING="$dir/recording" "$program" -tc="prediction: a recorded run has inputs*"
    run 0 python3 "$tools/decode.py" "$dir/recording" --unlimited --idle-end --max-damaged 0 --min-sessions 3 \
        --min-enters 800 --min-updates 5000 --min-leaves 300 --min-digests 1000 --min-frames 2500 \
        --min-repeated-frames 10000 --min-parts 5000 --min-starved 1 --min-corrections 100 --min-corrected-groups 120 \
        --min-spawned 800 --min-owned 10 --min-whole 300 --min-held-back 300 --min-shown-late 100 --min-ordered-groups 80
    cat "$dir/out"
    damaged_max=0
    damaged sent 0 1
    damaged received 0 1
    damaged value 0 1
    ;;
*)
    echo "unknown case: $case_name"
    exit 1
    ;;
esac
echo passed
