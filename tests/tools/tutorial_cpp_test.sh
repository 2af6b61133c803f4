#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# Follows docs/tutorial-cpp.md to the letter: applies its code blocks in order in an empty directory, runs its commands,
# types its input and compares each line of output. The resulting files must equal examples/tutorial/cpp.
#
#   tutorial_cpp_test.sh whole                  also installs packages (as root), and builds and installs this tree
#   tutorial_cpp_test.sh all BUILD_DIRECTORY    installs the library of a build; compiles and runs each step
#   tutorial_cpp_test.sh fast BUILD_DIRECTORY   the same, but compiles and runs the first and the last step only
#   tutorial_cpp_test.sh step N SERVER CLIENT   only runs step N, with built programs
#   tutorial_cpp_test.sh write                  makes examples/tutorial/cpp from the page; runs nothing
#
# Needs only what the page installs. Servers listen on free ports of the loopback device.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
page=$root/docs/tutorial-cpp.md
mode=${1:?usage: whole | all BUILD | fast BUILD | step N SERVER CLIENT | write}
dir=$(mktemp -d)
server=build/server
client=build/client
port=
pids=
unset CDPATH

# Runs at the end, also after a failure. `doing`: the command that runs.
doing=
clean() {
    [ -z "$doing" ] || { cat "$dir/log"; printf 'FAILED: step %s: %s\n' "$step" "$doing"; }
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    rm -rf "$dir"
}
trap clean EXIT
trap 'exit 1' INT TERM
fail() {
    printf 'FAILED: step %s: %s\n' "${step:-0}" "$1"
    for terminal in 1 2 3 4; do
        [ ! -s "$dir/out$terminal" ] || { echo "-- terminal $terminal"; cat "$dir/out$terminal"; }
    done
    exit 1
}

# Splits the page into numbered items: type, step, file or terminal, anchor, and the lines of the block.
mkdir "$dir/items"
awk -v dir="$dir/items" '
    function emit(type) {
        base = sprintf("%s/%03d", dir, ++count)
        printf "%s %d %s\n", type, step, name >(base ".item")
        printf "%s\n", anchor >(base ".anchor")
        printf "" >(base ".text")
        close(base ".item")
        close(base ".anchor")
    }
    function quoted(n) { split($0, part, "`"); return part[2 * n] }
    on && /^```$/ { close(base ".text"); on = 0; type = name = anchor = ""; next }
    on { print >(base ".text"); next }
    /^## Step [0-9]+: / { step = $3 + 0 }
    /^## What next/ { step = 99 }
    /^```sh$/ { name = "-"; emit("sh"); on = 1; next }
    /^```console$/ { if (type != "console") bad = bad "\n" FNR; emit("console"); on = 1; next }
    /^```(cpp|cmake)$/ { if (type !~ /^(new|below|above|replace)$/) bad = bad "\n" FNR; emit(type); on = 1; next }
    /^New file `/ { type = "new"; name = quoted(1) }
    /^In `[a-z.]+`, (below|above) `.*`:$/ { type = $3; name = quoted(1); anchor = quoted(2) }
    /^In `[a-z.]+`, replace `.*` by:$/ { type = "replace"; name = quoted(1); anchor = quoted(2) }
    /^Terminal [1-4]:$/ { type = "console"; name = $2 + 0 }
    /as in step 2\.$/ { name = "-"; emit("again"); type = "" }
    END { if (bad) { print "code blocks without a preceding \"New file\", \"In\" or \"Terminal\" line, in lines:" bad; exit 1 } }
' "$page" || exit 1

# apply HOW FILE ANCHOR TEXT: edits a file of the current directory.
apply() {
    if [ "$1" = new ]; then cp "$4" "$2"; return 0; fi
    how=$1 anchor=$3 text=$4 awk '
        BEGIN { while ((getline line <ENVIRON["text"]) > 0) block = block line "\n"; how = ENVIRON["how"] }
        !index($0, ENVIRON["anchor"]) { print; next }
        { ++found }
        how == "above" { printf "%s", block; print }
        how == "below" { print; printf "%s", block }
        how == "replace" { printf "%s", block }
        END { exit found != 1 }' "$2" >"$dir/edited" || fail "$2: exactly one line must contain $3"
    cp "$dir/edited" "$2"
}

# essence FILE: prints the file without license and empty lines.
essence() { sed -e '/^\/\/ SPDX-/d' -e '/^$/d' "$1"; }

# compare STEP: fails if the files of the current directory differ from the example.
compare() {
    for file in *.hpp *.cpp; do
        example=$root/examples/tutorial/cpp/step$1/$file
        [ -f "$example" ] || fail "$example does not exist"
        essence "$file" >"$dir/mine"
        essence "$example" >"$dir/theirs"
        diff "$dir/mine" "$dir/theirs" >"$dir/diff" || { cat "$dir/diff"; fail "the page (<) and $example (>) differ"; }
    done
    for example in "$root/examples/tutorial/cpp/step$1"/*; do
        [ -f "$(basename "$example")" ] || fail "the page does not make ${example##*/}"
    done
}

# write STEP: replaces the example by the files of the current directory.
write() {
    target=$root/examples/tutorial/cpp/step$1
    rm -rf "$target"
    mkdir -p "$target"
    for file in *.hpp *.cpp; do
        {
            printf '// SPDX-License-Identifier: Apache-2.0\n// SPDX-FileCopyrightText: The Purview authors\n'
            # An empty line between two definitions.
            awk '/^[a-z\/]/ && before ~ /^};?$/ { print "" } { print; before = $0 }' "$file"
        } >"$target/$file"
    done
}

end() {
    eval "pid=\${pid$1:-}"
    [ -n "$pid" ] || return 0
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
    eval "pid$1="
}
end_all() { for terminal in 4 3 2 1; do end $terminal; done; }

# launch TERMINAL COMMAND: starts a program of the page in a terminal.
launch() {
    end "$1"
    case "$2" in
        build/server) command="$server 0" ;;
        'build/client '[A-Za-z]*) command="$client ${2#build/client } $port" ;;
        *) fail "unknown program in terminal $1: $2" ;;
    esac
    rm -f "$dir/in$1"
    mkfifo "$dir/in$1"
    : >"$dir/out$1"
    # shellcheck disable=SC2086
    stdbuf -oL $command <"$dir/in$1" >"$dir/out$1" 2>&1 3>&- 4>&- 5>&- 6>&- &
    eval "pid$1=$! at$1=0 program$1='$2'"
    pids="$pids $!"
    eval "exec $(($1 + 2))>\"\$dir/in$1\""
    [ "$2" = build/server ] || return 0
    tries=0
    until port=$(sed -n 's/^listening on port //p' "$dir/out$1") && [ -n "$port" ]; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || fail "the server does not listen"
        sleep 0.05
    done
}

# expect TERMINAL LINE: waits for the next line of output and compares it.
expect() {
    eval "at$1=\$((at$1 + 1)) at=\$((at$1 + 1))"
    eval "at=\$at$1"
    tries=0
    until [ "$(wc -l <"$dir/out$1")" -ge "$at" ]; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || fail "terminal $1 prints no further line; the page has: $2"
        sleep 0.05
    done
    line=$(sed -n "${at}p" "$dir/out$1")
    [ "$line" = "$2" ] || fail "terminal $1 prints: $line
the page has: $2"
}

# play TERMINAL FILE: runs the commands and input of one block and compares its output.
play() {
    while IFS= read -r line || [ -n "$line" ]; do
        case "$line" in
            '$ '*) launch "$1" "${line#??}" ;;
            '> '*)
                sleep 0.3 # a person types more slowly than the network
                printf '%s\n' "${line#??}" >&$(($1 + 2))
                ;;
            ^C) sleep 0.3; eval "kill -INT \$pid$1" ;;
            'listening on port 7777') expect "$1" "listening on port $port" ;;
            *) expect "$1" "$line" ;;
        esac
    done <"$2"
}

# play_step STEP: plays all blocks of a step. Fails if a client prints more.
play_step() {
    for block in "$dir"/items/*.item; do
        read -r kind of_step where <"$block"
        [ "$of_step" = "$1" ] || continue
        case "$kind" in
            console) play "$where" "${block%.item}.text" ;;
            again)
                for first in "$dir"/items/*.item; do
                    read -r kind of_step where <"$first"
                    [ "$kind $of_step" = "console 2" ] && [ "$where" -le 3 ] || continue
                    play "$where" "${first%.item}.text"
                done
                ;;
        esac
    done
    sleep 0.5
    for terminal in 1 2 3 4; do
        eval "program=\${program$terminal:-} at=\${at$terminal:-0}"
        case "$program" in
            build/client*)
                [ "$(wc -l <"$dir/out$terminal")" -eq "$at" ] ||
                    fail "terminal $terminal prints more than the page: $(sed "1,${at}d" "$dir/out$terminal")"
                ;;
        esac
        eval "program$terminal="
    done
    end_all
    for terminal in 1 2 3 4; do rm -f "$dir/out$terminal"; done
    echo "step $1: the output equals the page"
}

if [ "$mode" = step ]; then
    server=$3
    client=$4
    step=$2
    play_step "$step"
    exit 0
fi

# Emulates the reader's home directory and shell. A root shell of a bare system has no sudo.
export HOME="$dir/home"
mkdir "$HOME"
if [ "$(id -u)" = 0 ] && ! command -v sudo >/dev/null; then sudo() { "$@"; }; fi
export DEBIAN_FRONTEND=noninteractive
last=$(sed -n 's/^## Step \([0-9]*\): .*/\1/p' "$page" | tail -n 1)

is_run() { [ "$mode" != write ] || return 1; [ "$mode" != fast ] || [ "$1" = 1 ] || [ "$1" = "$last" ]; }
# run FILE: the commands of a block. Their output is shown only if one fails, which ends this script.
run() {
    doing=$(cat "$1")
    . "$1" >"$dir/log" 2>&1
    doing=
}
# Notes that a step is built, with the seconds of each compilation.
note_built() {
    built=$step
    awk -v step="$step" '/\.cpp\.o\t/ { sub(/.*\//, "", $4); last[$4] = ($2 - $1) / 1000 }
        END { for (file in last) printf "step %d: %s compiled in %.1f s\n", step, file, last[file] }' build/.ninja_log
}

printf 'cmake --build build\n' >"$dir/build_again"
step=0
built=0
cd "$root"
for item in "$dir"/items/*.item "$dir/end"; do
    before=$step
    type=end
    its_step=99
    [ "$item" = "$dir/end" ] || read -r type its_step name <"$item"
    text=${item%.item}.text
    if [ "$its_step" != "$before" ] && [ "$before" != 0 ] && [ "$before" != 99 ]; then
        if [ "$mode" = write ]; then write "$before"; else compare "$before"; fi
        if is_run "$before"; then
            [ "$built" = "$before" ] || fail "the page does not build"
            play_step "$before"
        fi
    fi
    step=$its_step
    case "$type" in
        sh)
            if [ "$mode" = write ]; then
                [ "$step" != 0 ] || cd "$HOME"
                continue
            fi
            if [ "$step" = 0 ] && [ "$mode" != whole ]; then
                # The library is built already.
                build=${2:?BUILD_DIRECTORY} && build=$(cd "$build" && pwd)
                sed -n "s|^cmake --install build/release|cmake --install '$build'|p" "$text" >"$dir/install"
                [ -s "$dir/install" ] || fail "the page does not install the library"
                text=$dir/install
            fi
            if [ "$step" = 0 ]; then
                begin=$(date +%s)
                run "$text"
                echo "Purview is installed, after $(($(date +%s) - begin)) s"
                cd "$HOME" # any place
            elif is_run "$step"; then
                run "$text"
                [ ! -f build/.ninja_log ] || note_built
            else
                grep -q '^cmake --build build$' "$text" || fail "unknown command in the page: $(cat "$text")"
            fi
            ;;
        again)
            if is_run "$step"; then
                run "$dir/build_again"
                note_built
            fi
            ;;
        new | below | above | replace) apply "$type" "$name" "$(cat "${item%.item}.anchor")" "$text" ;;
    esac
done
[ "$(wc -l <CMakeLists.txt)" -le 6 ] || fail "CMakeLists.txt has more than six lines"
echo passed
