#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# cli_test.sh CASE PROGRAM [ARGUMENT]: tests the program through its command line.
set -eu
case_name=$1
program=$2
dir=$(mktemp -d)
child=
cleanup() {
    [ -z "$child" ] || kill "$child" 2>/dev/null || true
    rm -rf "$dir"
}
trap cleanup EXIT

fail() {
    echo "FAILED: $1"
    echo "--- standard output"; cat "$dir/out" 2>/dev/null || true
    echo "--- standard error"; cat "$dir/err" 2>/dev/null || true
    exit 1
}
# run EXPECTED_CODE ARGUMENT...
run() {
    expected=$1
    shift
    code=0
    timeout 300 "$program" "$@" >"$dir/out" 2>"$dir/err" </dev/null || code=$?
    [ "$code" = "$expected" ] || fail "'$*' ended with $code, not $expected"
}
# 240 tries, a quarter of a second each: a timeout of one minute, since the machine may be busy.
tries=$(awk 'BEGIN { for (i = 0; i < 240; ++i) printf "%d ", i }')
# wait_for_server: waits until a server has printed its address to $dir/first; sets port.
wait_for_server() {
    for _ in $tries; do
        [ -s "$dir/first" ] && break
        sleep 0.25
    done
    port=$(sed 's/.*127.0.0.1:\([0-9]*\).*/\1/' "$dir/first")
}
in_err() { grep -q -- "$1" "$dir/err" || fail "standard error lacks: $1"; }
in_out() { grep -q -- "$1" "$dir/out" || fail "standard output lacks: $1"; }
# refused_world TEXT: the world must not start, and the error must contain TEXT.
refused_world() {
    run 1 serve --world "$dir/w.toml" --port 0 --seconds 1
    in_err "$1"
}

# Generates a map and a trace in the formats of real ones.
make_map() {
    awk 'BEGIN {
        printf "{\"width\":120,\"height\":120,\"tilewidth\":32,\"tileheight\":32,\"layers\":[{\"name\":\"l\",\"type\":\"tilelayer\",\"width\":120,\"height\":120,\"data\":["
        for (i = 0; i < 14400; ++i) printf "%s%d", (i ? "," : ""), (i % 53 == 0 ? 2 : 1)
        printf "]},{\"name\":\"roaming\",\"type\":\"objectgroup\",\"objects\":["
        for (i = 0; i < 30; ++i) printf "%s{\"type\":\"rat\",\"x\":%d,\"y\":%d,\"width\":320,\"height\":320,\"properties\":{\"nb\":\"14\"}}", (i ? "," : ""), (i * 97) % 3500, (i * 211) % 3500
        printf "]}],\"tilesets\":[{\"firstgid\":1,\"tilecount\":2,\"tileproperties\":{\"1\":{\"c\":\"\"}}}]}"
    }' >"$dir/map.json"
}
# A world of six objects with known positions: the start of players, one near (entity 0), one far (1), one cloaked
# (2), one hidden (3), one of mode explicit (4).
make_six() {
    awk 'function thing(type, x, y) { printf "%s{\"type\":\"%s\",\"x\":%d,\"y\":%d,\"width\":0,\"height\":0,\"properties\":{}}", comma, type, x * 32, y * 32; comma = "," }
    BEGIN {
        printf "{\"width\":200,\"height\":100,\"tilewidth\":32,\"tileheight\":32,\"layers\":[{\"name\":\"l\",\"type\":\"tilelayer\",\"width\":200,\"height\":100,\"data\":["
        for (i = 0; i < 20000; ++i) printf "%s1", (i ? "," : "")
        printf "]},{\"name\":\"roaming\",\"type\":\"objectgroup\",\"objects\":["
        thing("start", 50, 50); thing("post", 60, 50); thing("post", 170, 50); thing("spy", 55, 50); thing("trap", 52, 50); thing("letter", 53, 50)
        printf "]}],\"tilesets\":[{\"firstgid\":1,\"tilecount\":2}]}"
    }' >"$dir/six.json"
    cat >"$dir/six.toml" <<'TOML'
name = "six"
[map]
file = "six.json"
start_type = "start"
[players]
teams = 0
speed_mps = 0
[kinds.post]
motion = "rest"
[kinds.spy]
speed_mps = 0
cloaked_share = 1
[kinds.trap]
motion = "rest"
hidden = true
[kinds.letter]
motion = "rest"
mode = "explicit"
[interest]
[[interest.node]]
name = "near, not cloaked"
steps = ["add within 60 leave 66", "subtract flag cloaked"]
TOML
}
# serve_six ARGUMENT...: starts a server of that world, with one player; sets port, operator and bots.
serve_six() {
    token=0123456789abcdef
    : >"$dir/first"
    "$program" serve --world "$dir/six.toml" --port 0 --operator-token $token --seconds 170 "$@" >"$dir/first" 2>"$dir/log" &
    child=$!
    wait_for_server
    operator="--port $port --operator-token $token"
    "$program" bots --server "127.0.0.1:$port" --clients 1 --seconds 160 >"$dir/bots" 2>&1 &
    bots=$!
    for _ in $tries; do
        # shellcheck disable=SC2086
        "$program" explain $operator --observer 0 --entity 0 >/dev/null 2>&1 && return
        sleep 0.25
    done
    fail 'the player did not join'
}
stop_six() {
    kill $bots "$child" 2>/dev/null || true
    wait $bots "$child" 2>/dev/null || true
    child=
}
# in_log TEXT: waits until the server has printed TEXT to standard error.
in_log() {
    for _ in $tries; do
        grep -q -- "$1" "$dir/log" && return
        sleep 0.25
    done
    cat "$dir/log"
    fail "the server log lacks: $1"
}
# answer_with TEXT: starts a server that sends TEXT as the reply to every operator request; sets port.
answer_with() {
    [ -z "$child" ] || kill "$child" 2>/dev/null || true
    rm -f "$dir/odd"
    python3 - "$1" "$dir/odd" <<'PY' &
import base64, hashlib, os, socket, struct, sys
text = sys.argv[1].encode()
listener = socket.create_server(("127.0.0.1", 0))
with open(sys.argv[2] + ".new", "w") as out:
    out.write(str(listener.getsockname()[1]))
os.rename(sys.argv[2] + ".new", sys.argv[2])
while True:
    client, _ = listener.accept()
    head = b""
    while b"\r\n\r\n" not in head:
        head += client.recv(4096)
    keys = [l.split(b":")[1].strip() for l in head.split(b"\r\n") if l.lower().startswith(b"sec-websocket-key:")]
    accept = base64.b64encode(hashlib.sha1(keys[0] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    client.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                   b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")
    client.recv(4096)
    size = bytes([len(text)]) if len(text) < 126 else struct.pack(">BH", 126, len(text))
    client.sendall(b"\x81" + size + text)
    client.settimeout(2)
    try:
        while client.recv(4096):
            pass
    except OSError:
        pass
    client.close()
PY
    child=$!
    for _ in $tries; do
        [ -s "$dir/odd" ] && break
        sleep 0.25
    done
    port=$(cat "$dir/odd")
}
# not_understood ANSWER ARGUMENT...: with that reply, the command must fail and print nothing but an error.
not_understood() {
    answer_with "$1"
    shift
    run 1 "$@" --port "$port" --operator-token 0123456789abcdef
    in_err "invalid reply from the server: "
    [ ! -s "$dir/out" ] || fail 'a part of the reply was printed'
}
make_trace() {
    awk 'BEGIN {
        print "time,id,x,y,z,facing"
        for (t = 0; t < 400; ++t) for (id = 1; id <= 60; ++id) {
            if (t < id || t > 300 + id) continue
            a = id * 0.7 + t * 0.02 * (id % 2 ? 1 : -1)
            printf "%.3f,%d,%.3f,%.3f,0,%.3f\n", t / 10, id, 3 * cos(a) + (id % 5) * 0.4, 3 * sin(a) + (id % 7) * 0.4, a
        }
    }' >"$dir/trace.csv"
}

case "$case_name" in
    usage)
        run 2
        run 2 demo --frobnicate
        in_err frobnicate
        run 2 dance
        run 2 bots --clients none
        run 2 bots --server nowhere
        in_err 'ADDRESS:PORT'
        run 2 serve --port 99999
        run 2 serve --host localhost
        in_err "'localhost' is not a numeric address"
        run 2 serve --seconds nan
        run 2 bots --loss nan
        run 1 bots --server elsewhere:7 --seconds 50
        in_err 'not a numeric address'
        run 2 demo --check --bots 3000 --seconds 9
        in_err '3000 bots join first: --seconds must be at least 10.5'
        run 2 demo --map a.json --trace b.csv
        run 0 --help
        in_out 'Examples:'
        in_out 'purview demo --check'
        run 0 demo --help
        in_out '--bots'
        # The bots of the examples need a server with limits that admit them.
        run 0 --help
        in_out 'purview serve --sessions-per-host-max 500 '
        in_out 'purview bots .*--clients 500 '
        run 0 serve --help
        in_out 'maximum number of clients'
        in_out 'maximum number of clients per address'
        run 0 --version
        ;;
    bad_world)
        printf 'name = "x"\nspeed = 3\n' >"$dir/w.toml"
        refused_world "w.toml:2:1: unknown key 'speed'"
        printf 'name = 7\n' >"$dir/w.toml"
        refused_world "w.toml:1:8: 'name' must be a string"
        run 1 serve --world "$dir/none.toml" --port 0 --seconds 1
        in_err 'none.toml: cannot be read: No such file'
        make_six
        sed 's/flag cloaked/flag shiny/' "$dir/six.toml" >"$dir/w.toml"
        refused_world "w.toml:22:51: step \"subtract flag shiny\": no flag 'shiny'; available: cloaked"
        sed 's/flag cloaked/sight/' "$dir/six.toml" >"$dir/w.toml"
        refused_world 'w.toml:22:46: .*this world has no line of sight'
        printf '[kinds.player]\nmotion = "rest"\n' | cat "$dir/six.toml" - >"$dir/w.toml"
        refused_world "w.toml:24:10: 'kinds.player.motion': the game controls this kind"
        sed 's/mode = "explicit"/nodes = ["far"]/' "$dir/six.toml" >"$dir/w.toml"
        refused_world "w.toml:18:10: 'kinds.letter.nodes': no node 'far'; available: 'near, not cloaked'"
        # A key with too many parts.
        { awk 'BEGIN { for (i = 0; i < 60000; ++i) printf "a."; print "a = 1" }'; cat "$dir/six.toml"; } >"$dir/w.toml"
        refused_world 'w.toml:1: a key has more than 16 parts'
        # A name must be a single line.
        sed 's/"near, not cloaked"/"near\\n[interest.sight]"/' "$dir/six.toml" >"$dir/w.toml"
        refused_world "w.toml:21:8: a node's name must not contain control characters"
        # Settings that match nothing cause a warning. The server starts.
        warned_world() {
            run 0 serve --world "$dir/w.toml" --port 0 --seconds 0.3
            in_err "warning: $1"
        }
        run 0 serve --world "$dir/six.toml" --port 0 --seconds 0.3
        if grep -q 'warning: ' "$dir/err"; then fail 'a valid world causes warnings'; fi
        sed 's/start_type = "start"/start_type = "begin"/' "$dir/six.toml" >"$dir/w.toml"
        warned_world "map.start_type: no object is of type 'begin'"
        sed 's/start_type = "start"/collision_property = "wall"/' "$dir/six.toml" >"$dir/w.toml"
        warned_world "map.collision_property: no tile has 'wall'"
        make_trace
        printf '[trace]\nfile = "trace.csv"\n[players]\ncarts = 3\n' >"$dir/w.toml"
        warned_world 'players.carts: not available in a recorded crowd'
        # A file without an end.
        sed 's/six.json/\/dev\/null/' "$dir/six.toml" >"$dir/w.toml"
        refused_world '/dev/null: cannot be read: it is not a regular file'
        # The built-in world needs space for its files. If there is too little, no files are left behind.
        (export TMPDIR="$dir/none" && run 1 serve --port 0 --seconds 1)
        in_err 'the built-in world cannot be unpacked: no room for temporary files?'
        mkdir "$dir/small"
        (trap '' XFSZ && ulimit -f 0 && TMPDIR="$dir/small" timeout 300 "$program" serve --port 0 --seconds 1 2>&1 </dev/null) |
            cat >"$dir/err"
        in_err 'the built-in world cannot be unpacked: no room for temporary files?'
        [ -z "$(ls "$dir/small")" ] || fail 'partly unpacked files are left behind'
        # A recording may name only world files below the current directory.
        cd "$dir"
        run 0 serve --world six.toml --port 0 --seconds 0.3 --record near.pvrec
        run 0 replay near.pvrec
        # If a replay differs and another build made the recording, the error mentions that build.
        python3 - near.pvrec other.pvrec <<'PY'
import re, struct, sys, zlib
data = bytearray(re.sub(rb"build=.", b"build=9", open(sys.argv[1], "rb").read(), count=1))
at = 6
while data[at] != 7:  # the first state
    at += 5 + struct.unpack_from("<BI", data, at)[1]
data[at + 9] ^= 1
data[-4:] = struct.pack("<I", zlib.crc32(data[:-9]))
open(sys.argv[2], "wb").write(data)
PY
        run 3 replay other.pvrec
        in_err '; recorded by 9.*, this is '
        run 0 serve --world "$dir/six.toml" --port 0 --seconds 0.3 --record far.pvrec
        run 2 replay far.pvrec
        in_err "its world '$dir/six.toml' is not below this directory"
        run 0 replay far.pvrec --world six.toml
        mkdir below
        cd below
        run 0 serve --world ../six.toml --port 0 --seconds 0.3 --record up.pvrec
        run 2 replay up.pvrec
        in_err "its world '../six.toml' is not below this directory"
        run 0 replay up.pvrec --world ../six.toml
        # If a recording cannot be written any more, it ends before the tick in which that is noticed.
        cd ..
        sed 's/^name = "six"/&\ntick_hz = 100/' six.toml >w.toml
        (trap '' XFSZ && ulimit -f 2 && run 1 serve --world w.toml --port 0 --seconds 2 --record full.pvrec)
        in_err 'full.pvrec: writing failed, detected in tick [0-9]*: `purview replay` reports where the recording ends'
        cd below
        # An old recording that cannot be renamed is not overwritten.
        longest=$(printf '%0255d' 0)
        cp up.pvrec "$longest"
        run 1 serve --world ../six.toml --port 0 --seconds 0.3 --record "$longest"
        in_err 'cannot back up the existing file: File name too long'
        cmp -s up.pvrec "$longest" || fail 'the old recording was overwritten'
        ;;
    bad_trace)
        printf 'time,id,x,y,z,facing\n2,1,0,0,0,0\n1,1,0,0,0,0\n' >"$dir/t.csv"
        run 1 demo --trace "$dir/t.csv" --port 0 --seconds 1
        in_err 't.csv:3: rows must be in time order'
        printf 'time,id,x,y,z,facing\n0,1,0,0,0,1.4e8\n1,1,1,1,0,1.4e8\n5,1,2,2,0,1.4e8\n' >"$dir/t.csv"
        run 1 demo --trace "$dir/t.csv" --port 0 --seconds 1
        in_err "t.csv:2: facing must be -100000 to 100000 radians, not '1.4e8'"
        ;;
    bad_map)
        make_map
        sed 's/objectgroup/nonsense/' "$dir/map.json" >"$dir/bad.json"
        run 1 demo --map "$dir/bad.json" --port 0 --seconds 1
        in_err "bad.json: layer 'roaming' has the unknown type 'nonsense'"
        # Control characters of maps and world files are escaped in messages.
        sed 's/"objectgroup"/"no\\u001b[2J\\nthing"/' "$dir/map.json" >"$dir/bad.json"
        for how in serve demo; do
            run 1 $how --map "$dir/bad.json" --port 0 --seconds 1
            in_err "layer 'roaming' has the unknown type 'no\\\\u001b\\[2J\\\\u000athing'"
        done
        printf 'name = "a\\u001b[2J"\n[map]\nfile = "map.json"\n[kinds."b\\u001b[2J"]\n' >"$dir/bad.toml"
        run 0 serve --world "$dir/bad.toml" --port 0 --seconds 0.1
        in_err 'kinds.b\\u001b\[2J: no entity of this world has this kind'
        in_err 'world=a\\u001b\[2J '
        # crowd OBJECTS NUMBER: makes a map of OBJECTS objects, each of which spawns NUMBER entities.
        crowd() {
            awk -v objects="$1" -v number="$2" 'BEGIN {
                printf "{\"width\":10,\"height\":10,\"tilewidth\":16,\"tileheight\":16,\"tilesets\":[],\"layers\":[{\"name\":\"roaming\",\"type\":\"objectgroup\",\"objects\":["
                for (i = 0; i < objects; ++i) printf "%s{\"type\":\"sheep\",\"x\":1,\"y\":1,\"width\":5,\"height\":5,\"properties\":{\"nb\":\"%d\"}}", (i ? "," : ""), number
                printf "]}]}"
            }' >"$dir/crowd.json"
            printf '[map]\nfile = "crowd.json"\n' >"$dir/crowd.toml"
        }
        # 4,096 of the 2^20 entities are reserved for players.
        crowd 20 1000000
        run 1 serve --world "$dir/crowd.toml" --port 0 --seconds 1
        in_err 'crowd.toml: 20000000 entities, .* 4096 players exceed .* maximum of 1048576'
        crowd 4296 1000000  # 1,032,704 in 32 bits
        run 1 serve --world "$dir/crowd.toml" --port 0 --seconds 1
        in_err 'crowd.toml: 4296000000 entities'
        crowd 1 100000
        printf '[kinds.sheep]\ncargo = 63\n' >>"$dir/crowd.toml"
        run 1 serve --world "$dir/crowd.toml" --port 0 --seconds 1
        in_err 'crowd.toml: 6400000 entities'
        crowd 3 334827
        printf '[players]\ncarts = 10000\n' >>"$dir/crowd.toml"
        run 1 serve --world "$dir/crowd.toml" --port 0 --seconds 1
        in_err 'crowd.toml: 1044481 entities'
        ;;
    port_in_use)
        "$program" serve --port 0 --seconds 170 >"$dir/first" 2>/dev/null &
        child=$!
        wait_for_server
        run 1 serve --port "$port" --seconds 1
        in_err 'Address already in use'
        ;;
    explain)
        token=0123456789abcdef
        "$program" serve --port 0 --operator-token $token --seconds 170 >"$dir/first" 2>/dev/null &
        child=$!
        wait_for_server
        server=127.0.0.1:$port
        "$program" bots --server "$server" --clients 3 --seconds 30 >"$dir/bots" 2>&1 &
        bots=$!
        code=1
        for _ in $tries; do
            "$program" explain --server "$server" --operator-token $token --observer 1 --entity 1 \
                >"$dir/out" 2>"$dir/err" && code=0 && break
            sleep 0.25
        done
        [ $code = 0 ] || fail 'there is no observer for explain'
        in_out 'relevant: '
        in_out 'distance [0-9.]* of 60.0, leave radius 66.0'
        in_out 'cloaked is '
        in_out 'would .* it: '
        run 0 explain --server "$server" --operator-token $token --observer 1 --entity 1 --json
        python3 - "$dir/out" <<'PY' || fail 'the JSON differs from the expected one'
import json, sys
why = json.load(open(sys.argv[1]))
assert why["op"] == "explain" and isinstance(why["relevant"], bool), why
assert [s["op"] for s in why["nodes"][0]["steps"]] == ["add", "add", "subtract"], why
assert why["single"] and not why["pair"], why
PY
        run 1 explain --server "$server" --operator-token $token --observer 999 --entity 1
        in_err 'there is no such observer'
        run 1 explain --server "$server" --operator-token $token --observer 4294967297 --entity 1
        in_err 'there is no such observer'
        run 1 explain --server "$server" --operator-token $token --observer 1 --entity 99999999
        in_err 'there is no such entity'
        run 1 explain --server "$server" --operator-token wrong --observer 1 --entity 1
        in_err 'check the token'
        run 2 explain --server nowhere --operator-token $token --observer 1 --entity 1
        stop_six
        run 1 explain --server "$server" --operator-token $token --observer 1 --entity 1
        in_err 'no server at'
        make_six
        serve_six --record "$dir/six.pvrec"
        # shellcheck disable=SC2086
        why() { run 0 explain $operator --observer 0 --entity "$1"; }
        why 0
        in_out 'entity 0, .*: relevant: a node matches'
        in_out 'add: distance 10.0 of 60.0.* -> applies'
        in_out 'would hide it: set cloaked'
        why 1
        in_out 'entity 1, .*: not relevant: no node matches'
        in_out 'add: distance 120.0 of 60.0.* -> does not apply'
        in_out 'would show it: move it to'
        why 2
        in_out 'entity 2, .*: not relevant: no node matches'
        in_out 'add: distance 5.0 of 60.0.* -> applies, so far yes'
        in_out 'subtract: cloaked is set -> applies, so far no'
        in_out 'would show it: clear cloaked'
        why 3
        in_out 'entity 3, .*: not relevant: force hidden'
        in_out 'would show it: end the force-hide'
        why 4
        in_out 'entity 4, .*: not relevant: explicit'
        in_out 'add: distance 3.0 of 60.0.* -> applies'
        in_out 'would show it: allow the pair'
        stop_six
        # A replay repeats the requests and disconnects of operators.
        [ "$(grep -ao 'operator_closed [0-9]' "$dir/six.pvrec" | sort -u | wc -l)" -ge 5 ] || fail 'disconnects of operators are not recorded'
        run 0 replay "$dir/six.pvrec" --world "$dir/six.toml"
        # Replies of another program are either understood or refused.
        for answer in '{"op":1}' '{"op":"explain"}' '{"op":"explain","observer":1,"index":[],"tick":3,"text":""}' \
            '{"op":"explain","observer":1,"index":2,"tick":3,"text":4}' '{"op":"error","text":5}'; do
            not_understood "$answer" explain --observer 0 --entity 0
        done
        answer_with '{"op":"explain","observer":1,"index":2,"tick":3,"text":"so\nand \u001b[2Jso\n"}'
        run 0 explain --observer 0 --entity 0 --port "$port" --operator-token $token
        in_out '^observer 1, entity 2, tick 3: so$'
        in_out '^and \\u001b\[2Jso$'
        answer_with '{"op":"error","text":"no\n\u001b[2J"}'
        run 1 explain --observer 0 --entity 0 --port "$port" --operator-token $token
        in_err 'no\\u000a\\u001b\[2J'
        ;;
    rules)
        make_six
        serve_six
        # shellcheck disable=SC2086
        rules() {
            code=$1
            shift
            run "$code" rules $operator "$@"
        }
        rules 0
        in_out '^# revision 1$'
        in_out '^name = "near, not cloaked"$'
        in_out '^steps = \["add within 60 leave 66", "subtract flag cloaked"\]$'
        cp "$dir/out" "$dir/rules.toml"
        # The printed address is accepted as it is, with any text after the token.
        run 0 rules --url "$(sed 1q "$dir/first")&more=0123456789#rules" --json
        python3 - "$dir/out" <<'PY' || fail 'the JSON differs from the expected one'
import json, sys
rules = json.load(open(sys.argv[1]))
assert rules["op"] == "rules" and rules["revision"] == 1 and rules["editable"], rules
assert rules["names"]["flags"] == ["cloaked"] and rules["names"]["values"] == ["hp"], rules
PY
        # A typed host name is accepted if it is this machine's.
        run 0 rules --url "$(sed 's/127.0.0.1/localhost/;1q' "$dir/first")"
        run 0 rules --server "localhost:$port" --operator-token $token
        run 1 rules --server "elsewhere:$port" --operator-token $token
        in_err "'elsewhere' is not a numeric address"
        # The output is a valid rules file. A dry run of it changes nothing.
        rules 0 --try "$dir/rules.toml"
        in_out '^gains: 0, losses: 0$'
        sed 's/within 60 leave 66/within 150/' "$dir/rules.toml" >"$dir/wide.toml"
        rules 0 --try "$dir/wide.toml"
        in_out '^gains: 1, losses: 0$'
        in_out '^ *1048576 *1 *0$'
        rules 0
        in_out '^# revision 1$'
        rules 0 --apply "$dir/wide.toml"
        in_out '^# revision 2$'
        in_log 'an operator changed the rules: revision 2'
        sleep 0.2
        # shellcheck disable=SC2086
        run 0 explain $operator --observer 0 --entity 1
        in_out ': relevant: a node matches'
        # An invalid file changes nothing. The error has line and column.
        sed 's/flag cloaked/flag shiny/' "$dir/rules.toml" >"$dir/bad.toml"
        for what in --try --apply; do
            rules 1 $what "$dir/bad.toml"
            in_err "bad.toml:6:51: step \"subtract flag shiny\": no flag 'shiny'; available: cloaked"
        done
        printf 'name = "x"\n' >"$dir/bad.toml"
        rules 1 --apply "$dir/bad.toml"
        in_err 'bad.toml: has no \[interest\]'
        rules 1 --apply "$dir/none.toml"
        in_err 'none.toml: cannot be read'
        rules 0
        in_out '^# revision 2$'
        # On SIGHUP the world file is read again.
        sed -i 's/within 60 leave 66/within 20/' "$dir/six.toml"
        kill -HUP "$child"
        in_log 'six.toml: rules reloaded: revision 3'
        rules 0
        in_out 'add within 20"'
        sed -i 's/within 20/within 0/' "$dir/six.toml"
        kill -HUP "$child"
        in_log "six.toml:22:22: step \"add within 0\": '0' is not a number of meters.*; the rules are unchanged"
        rules 0
        in_out '^# revision 3$'
        # A file that is not valid TOML changes nothing, either.
        cp "$dir/six.toml" "$dir/six.kept"
        awk 'BEGIN { for (i = 0; i < 60000; ++i) printf "a."; print "a = 1" }' >"$dir/six.toml"
        kill -HUP "$child"
        in_log 'six.toml:1: a key has more than 16 parts; the rules are unchanged'
        cp "$dir/six.kept" "$dir/six.toml"
        rules 0
        in_out '^# revision 3$'
        stop_six
        sed -i 's/within 0/within 60/' "$dir/six.toml"
        # When its terminal closes, the server ends. It does not read its file again.
        python3 - "$program" "$dir/six.toml" <<'PY' || fail 'the server still runs after its terminal closed'
import os, pty, sys, time
child, master = pty.fork()
if child == 0:
    os.execv(sys.argv[1], [sys.argv[1], "serve", "--world", sys.argv[2], "--port", "0", "--seconds", "170"])
text = b""
while b"http://" not in text:
    text += os.read(master, 1000)
time.sleep(0.3)
os.close(master)
for _ in range(240):
    if os.waitpid(child, os.WNOHANG) != (0, 0):
        sys.exit(0)
    time.sleep(0.25)
os.kill(child, 9)
sys.exit(1)
PY
        serve_six --read-only-rules
        rules 0 --try "$dir/wide.toml"
        in_out '^gains: 1, losses: 0$'
        rules 1 --apply "$dir/wide.toml"
        in_err 'was started with --read-only-rules'
        rules 0
        in_out '^# revision 1$'
        stop_six
        rules 1
        in_err 'no server at'
        run 2 rules --port "$port"
        in_err '--operator-token is required'
        run 2 rules --url 127.0.0.1:7780
        in_err 'must begin with http://'
        run 2 rules --url http://nowhere/ --operator-token $token
        in_err 'must be http://ADDRESS:PORT'
        run 2 rules --port 99999 --operator-token $token
        run 2 rules --port 1 --operator-token $token --try a --apply b
        # Replies of another program are either understood or refused.
        for answer in '{"op":1}' '{"op":"error","text":5}' '{"op":"try_rules"}' '{"op":"rules"}' \
            '{"op":"rules","revision":1,"nodes":[],"warnings":[1]}' '{"op":"rules","revision":{},"nodes":[]}' \
            '{"op":"rules","nodes":[{"name":7,"steps":[]}]}' \
            '{"op":"try_rules","gains":1,"losses":2,"observers":[{}]}' \
            '{"op":"try_rules","gains":1,"losses":2,"observers":[],"warnings":[{}]}'; do
            not_understood "$answer" rules
        done
        not_understood '{"op":"error","about":"set_rules","text":"x","node":"y"}' rules --try "$dir/rules.toml"
        # The output is a file of these rules, whatever text a warning contains.
        answer_with '{"op":"rules","revision":1,"nodes":[{"name":"a\nb","steps":[]}],"warnings":["x\n[interest.sight]\u001b"]}'
        run 0 rules --port "$port" --operator-token $token
        in_out '^# warning: x\\u000a\[interest.sight\]\\u001b$'
        in_out '^name = "a\\u000ab"$'
        ;;
    open_operator)
        run 2 serve --host 0.0.0.0 --port 0 --seconds 1
        in_err 'is not loopback'
        run 2 serve --host 0.0.0.0 --port 0 --seconds 1 --operator-token short
        in_err 'at least 16 characters'
        run 2 serve --port 0 --seconds 1 --no-operator --operator-token 0123456789abcdef
        in_err '--operator-token excludes --no-operator'
        # The demo has the same restrictions. It prints how another machine can reach it.
        run 2 demo --host 0.0.0.0 --port 0 --seconds 1
        in_err 'is not loopback'
        run 2 demo --host 0.0.0.0 --port 0 --seconds 1 --operator-token short
        in_err 'at least 16 characters'
        run 2 demo --host localhost --port 0 --seconds 1
        in_err "'localhost' is not a numeric address"
        run 2 demo --port 0 --seconds 1 --no-operator --operator-token 0123456789abcdef
        run 0 demo --host 127.0.0.2 --port 0 --bots 3 --seconds 3 --no-operator --fail-if 'joined < 3'
        in_err 'Open  http://127.0.0.2:[0-9]*/$'
        in_err 'From another machine: ssh -L \([0-9]*\):127.0.0.2:\1 '
        ;;
    json_streams)
        run 0 serve --port 0 --seconds 2 --json -
        in_err 'world=vale'
        sed 1d "$dir/out" | python3 -c 'import json, sys; assert json.load(sys.stdin)["entities"] > 20000' || fail 'standard output is not the report'
        run 1 serve --port 0 --seconds 0.5 --json /dev/full
        in_err 'cannot write /dev/full'
        # A run with an unwritable report fails at the start. Otherwise these would not end in time.
        for command in 'serve --port 0' 'demo --port 0' 'bots'; do
            # shellcheck disable=SC2086
            run 1 $command --seconds 1000 --json "$dir/nowhere/report.json"
            in_err 'cannot write .*/nowhere/report.json'
        done
        run 1 serve --world "$dir/nowhere.toml" --seconds 1 --json "$dir/none.json"
        [ ! -e "$dir/none.json" ] || fail 'a run that does not start leaves a report'
        "$program" serve --port 0 --seconds 170 >"$dir/first" 2>/dev/null &
        child=$!
        wait_for_server
        if "$program" bots --server "127.0.0.1:$port" --clients 2 --seconds 1 >/dev/full 2>"$dir/err"; then fail 'a table that cannot be written is not an error'; fi
        in_err 'cannot write to standard output'
        if "$program" serve --port 0 --seconds 0.5 --json - >/dev/full 2>"$dir/err"; then fail 'a full disk is not an error'; fi
        in_err 'cannot write to standard output'
        kill "$child"
        wait "$child" 2>/dev/null || true
        # Refused connections appear in the log and in the report.
        : >"$dir/first"
        "$program" serve --port 0 --seconds 170 --sessions-per-host-max 1 --json "$dir/report.json" >"$dir/first" 2>"$dir/log" &
        child=$!
        wait_for_server
        python3 - "$port" <<'PY' || fail 'a connection beyond the cap is not closed'
import socket, sys
sockets = [socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5) for _ in range(50)]
assert sockets[-1].recv(1) == b""
PY
        in_log 'connections refused by .*: 1; .*--sessions-per-host-max'
        kill "$child"
        wait "$child" || fail 'the server did not exit with 0'
        child=
        python3 -c 'import json, sys; report = json.load(open(sys.argv[1])); assert report["web_refused"] == 1, report' "$dir/report.json" || fail 'the report has wrong counts'
        ;;
    guarded)
        # Only pages of the given origins may play. Wrong tokens are logged. Only the owner can read a recording.
        for bad in game.example https:// https://game.example/ https://a.example/page 'https://a b' null ftp://a.example; do
            run 2 serve --port 0 --seconds 1 --origin "$bad"
            in_err "--origin: '$bad' is not an origin such as https://game.example, or \\*"
        done
        (umask 022 && exec "$program" serve --port 0 --seconds 30 --origin https://game.example --origin http://127.0.0.1:8000 \
            --operator-token a-token-of-our-own --record "$dir/kept.pvrec" --json "$dir/report.json") >"$dir/first" 2>"$dir/log" &
        child=$!
        wait_for_server
        python3 - "$port" <<'PY' || fail 'the wrong origins or tokens were admitted'
import socket, sys
port = int(sys.argv[1])
def status(target, origin):
    with socket.create_connection(("127.0.0.1", port), 10) as client:
        head = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        head += f"Origin: {origin}\r\n" if origin else ""
        client.sendall((head + "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        return client.recv(4096).decode().split(" ")[1]
own = f"http://127.0.0.1:{port}"
for origin in (None, own, "https://game.example", "http://127.0.0.1:8000"):
    assert status("/play", origin) == "101", origin
for origin in ("null", "http://evil.example", "http://game.example"):
    assert status("/play", origin) == "403", origin
for guess in range(3):
    assert status(f"/operator?token={guess}", own) == "403"
assert status("/operator?token=a-token-of-our-own", own) == "101"
assert status("/operator?token=a-token-of-our-own", "https://game.example") == "403"
PY
        in_log 'operator connections refused for a wrong token or origin: '
        in_log 'connections refused from pages of other origins: .*--origin'
        [ "$(stat -c %a "$dir/kept.pvrec")" = 600 ] || fail 'other users can read the recording'
        kill "$child"
        wait "$child" || fail 'the server did not exit with 0'
        child=
        python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); assert r["origins_refused"] == 3 and r["operators_refused"] == 4, r' "$dir/report.json" || fail 'the report has wrong counts'
        ;;
    bots_and_serve)
        "$program" serve --threads 2 --port 0 --seconds 170 --sessions-per-host-max 60 >"$dir/first" 2>/dev/null &
        child=$!
        wait_for_server
        run 0 bots --server "127.0.0.1:$port" --clients 60 --seconds 6 --loss 0.05 --jitter 20 --report -
        python3 - "$dir/out" <<'PY' || fail 'the bots have too few ghosts'
import json, sys
report = json.load(open(sys.argv[1]))
assert report["joined"] == 60 and report["ghosts_mean"] > 20 and report["order_violations"] == 0, report
assert report["enters"] > 60 * 20 and report["packets_malformed"] == 0 and report["rtt_ms_p99"] > 0, report
PY
        run 1 bots --server "127.0.0.1:$port" --clients 90 --seconds 5 --report -
        in_err 'refused: address_limit: .*--sessions-per-host-max'
        ;;
    bots_move)
        # Bots that teleport cause more enters, unless the server does not allow jumps.
        # with ARGUMENT...: starts a server with these options. count MOVEMENT: sets `enters` of 20 bots.
        with() {
            : >"$dir/first"
            "$program" serve --port 0 --seconds 170 --sessions-per-host-max 60 "$@" >"$dir/first" 2>/dev/null &
            child=$!
            wait_for_server
        }
        count() {
            run 0 bots --server "127.0.0.1:$port" --clients 20 --seconds 4 --movement "$1" --json -
            enters=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["enters"])' "$dir/out")
        }
        with --allow-jumps
        count roam
        roam=$enters
        [ "$roam" -gt 200 ] || fail "only $roam enters"
        count teleport
        [ "$enters" -gt $((roam * 3 / 2)) ] || fail "$enters enters with teleport, $roam with roam"
        # Bots in one place are all relevant to each other.
        run 0 bots --server "127.0.0.1:$port" --clients 20 --seconds 4 --movement hotspot --fail-if 'relevant_p50 < 20'
        kill "$child"
        wait "$child" 2>/dev/null || true
        with
        count teleport
        [ "$enters" -lt $((roam * 3 / 2)) ] || fail "$enters enters with teleport where jumps are not allowed, $roam with roam"
        ;;
    bots_conditions)
        run 2 bots --fail-if 'bytes > 3'
        in_err "unknown name 'bytes'; available: age_ms_p50, "
        run 2 demo --fail-if 'bytes_p99 >'
        in_err 'must be NAME OP NUMBER'
        run 2 bots --movement swim
        in_err '^--movement: swim not in {flock,hotspot,roam,teleport}$'
        run 2 bots --clients 10 --slow-readers 11
        in_err 'more than the number of bots'
        "$program" serve --port 0 --seconds 170 --sessions-per-host-max 60 >"$dir/first" 2>/dev/null &
        child=$!
        wait_for_server
        run 0 bots --server "127.0.0.1:$port" --clients 20 --seconds 4 --fail-if 'refused > 0' --fail-if 'bytes_p50 <= 0' --json "$dir/report.json"
        in_out '^ *p50 *p90 *p99$'
        in_out '^bytes per second '
        run 3 bots --server "127.0.0.1:$port" --clients 20 --seconds 6 --slow-readers 20 --fail-if 'age_ms_p99 > 1000' --json -
        in_err "'age_ms_p99 > 1000': age_ms_p99 is "
        python3 - "$dir/out" <<'PY' || fail 'slow readers are not slow'
import json, sys
report = json.load(open(sys.argv[1]))
assert report["age_ms_p50"] > 100 and report["joined"] == 20, report
PY
        run 3 demo --port 0 --bots 5 --seconds 2 --fail-if 'clients == 5'
        in_out '^relevant entities '
        in_err "'clients == 5': clients is 5"
        # A missing server is reported.
        run 1 bots --server 127.0.0.1:1 --clients 3 --seconds 1
        in_err 'nothing listens at 127.0.0.1:1, or the host is unreachable'
        in_out '^round trip, ms  *-  *-  *-$'
        # Missing bots are reported.
        (ulimit -n 60 && run 1 demo --port 0 --bots 100 --seconds 2)
        in_err 'bots: 30 of 100: the system.s limit of open sockets is reached'
        ;;
    own_world)
        # The check passes in a small world with little activity and without carts. It also passes with few ticks
        # per second, with a plain map, and with a trace of one person.
        make_six
        run 0 demo --check ${3:+"$3"} --world "$dir/six.toml" --bots 10 --seconds 8 --port 0 --json "$dir/report.json"
        in_err 'all checks passed'
        python3 -c 'import json, sys; report = json.load(open(sys.argv[1])); assert report["entities"] < 30 and report["digests_checked"] > 0 and report["truth_checked"] > 0, report' \
            "$dir/report.json" || fail 'the wrong world was checked, or nothing'
        sed 's/^name = "six"/&\ntick_hz = 4/; s/^teams = 0/&\ncarts = 1/' "$dir/six.toml" >"$dir/slow.toml"
        printf 'time,id,x,y,z,facing\n0,1,0,0,0,0\n60,1,1,0,0,0\n' >"$dir/one.csv"
        for world in "--world $dir/slow.toml" "--map $dir/six.json" "--trace $dir/one.csv"; do
            # shellcheck disable=SC2086
            run 0 demo --check ${3:+"$3"} $world --bots 10 --seconds 8 --port 0
            in_err 'all checks passed'
        done
        ;;
    check_rules)
        # The check covers rules that depend on earlier ticks. Rules that it cannot check are reported as unchecked.
        make_map
        # checked RULES: runs a demo with the check, with fast rats and these rules.
        checked() {
            printf '[map]\nfile = "map.json"\n[players]\nteams = 0\n[kinds.rat]\nspeed_mps = 60\n[interest]\n%b' "$1" >"$dir/w.toml"
            run 0 demo --check --no-pace --world "$dir/w.toml" --bots 20 --seconds 6 --port 0 --json "$dir/report.json"
        }
        checked 'minimum_relevance_ticks = 40\n[[interest.node]]\nsteps = ["add within 45 leave 50"]\n'
        in_err '; all checks passed'
        checked '[[interest.node]]\nrefresh = "dormant"\nsteps = ["add within 45 leave 50"]\n'
        in_err '; all checks passed'
        checked '[[interest.node]]\nname = "x"\nrefresh = "every 10"\nsteps = ["add within 45 leave 50"]\n'
        in_err "RELEVANT SETS ARE NOT CHECKED: node 'x' is not evaluated in every tick"
        if grep -q '; all checks passed' "$dir/err"; then fail 'unchecked rules are reported as holding'; fi
        python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); assert r["truth_unchecked"] and r["truth_checked"] == 0 and r["holds"], r' \
            "$dir/report.json" || fail 'the report lacks truth_unchecked'
        ;;
    with_node)
        # Fake `node` programs: one prints a wrong report, one ends by a signal.
        mkdir "$dir/bin"
        PATH=$dir/bin:$PATH
        make_six
        node_answer() {
            printf '#!/bin/sh\n%s\n' "$1" >"$dir/bin/node"
            chmod +x "$dir/bin/node"
            run 3 demo --check --no-pace --with-node --world "$dir/six.toml" --bots 4 --seconds 7 --port 0
        }
        node_answer 'echo "{\"nonce\": \"0000000000000001\", \"digests\": 100000, \"malformed\": 0}"'
        in_err 'check failed: digests of the WebAssembly client is 0,'
        if grep -q 'exit code' "$dir/err"; then fail 'exit code 0 is reported as an error'; fi
        # shellcheck disable=SC2016
        node_answer 'kill -9 $$'
        in_err 'check failed: exit code of the WebAssembly client is -1, must be == 0'
        ;;
    generated_map)
        make_map
        bots=160
        [ -z "${3:-}" ] || bots=120  # builds with sanitizers are several times slower per bot
        run 0 demo --check ${3:+"$3"} --map "$dir/map.json" --bots $bots --seconds 12 --port 0 --json "$dir/report.json"
        in_err 'all checks passed'
        # The report has the bots' state at the end of the run, not after the server's disconnect.
        python3 -c 'import json, sys; report = json.load(open(sys.argv[1])); assert report["bots_joined"] == report["bots"] and report["bots_closed"] == 0, report' \
            "$dir/report.json" || fail 'the bots were counted too late'
        # The demo sets no limits for the activity in a map or a crowd. Here the expected activity is known.
        python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); assert min(r["enters_per_s"], r["leaves_per_s"]) >= r["bots"] and 50 <= r["relevant_mean"] <= 2000 and r["relevant_changes_per_tick"] >= 30, r' \
            "$dir/report.json" || fail 'too little activity'
        ;;
    generated_trace)
        make_trace
        report="$dir/$(printf 'jos\351').json"  # a name that is not UTF-8
        run 0 demo --check ${3:+"$3"} --trace "$dir/trace.csv" --bots 60 --seconds 12 --port 0 --operator-token not-for-reports --json "$report"
        in_err 'all checks passed'
        python3 -c 'import json, sys; assert "not-for-reports" not in json.load(open(sys.argv[1], "rb"))["command"]' "$report" || fail 'the report is not JSON, or contains the token'
        python3 -c 'import json, sys; r = json.load(open(sys.argv[1], "rb")); there = r["people_present_mean"]; assert min(r["enters_per_s"], r["leaves_per_s"]) >= there and 2 <= r["relevant_mean"] <= there / 2, r' \
            "$report" || fail 'too little activity'
        ;;
    break)
        run 3 demo --check --bots 40 --seconds 8 --port 0 --break "$3" --json "$dir/report.json"
        in_err 'some checks FAILED'
        in_err 'mismatches is'
        ;;
    no_break)
        run 2 demo --break leak
        ;;
    *) fail "unknown case: $case_name" ;;
esac
echo "passed: $case_name"
