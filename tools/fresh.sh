#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
#
# fresh.sh [--keep] [RELEASE]...: runs the two commands of the README on a minimal Debian (debootstrap, minbase), with
# a separate directory for each release, and prints the time and disk space used. Default: bookworm trixie. Needs
# root. Uses the committed tree, and this machine's package mirror and proxies. Mounts end with the
# command, because they are in a separate namespace.
set -eu
cd "$(dirname "$0")/.."
keep=no
if [ "${1:-}" = --keep ]; then keep=yes; shift; fi
[ $# -gt 0 ] || set -- bookworm trixie
[ "$(id -u)" = 0 ] || { echo "fresh: needs root, for debootstrap and chroot" >&2; exit 2; }
base=${PURVIEW_FRESH_DIR:-/var/tmp/purview-fresh}
table=$(mktemp)
trap 'rm -f "$table"' EXIT

mirror=$(apt-get indextargets --format '$(ORIGIN) $(SITE)' 'Created-By: Packages' 2>/dev/null |
    sed -n 's/^Debian //p' | grep -v security | head -n 1 || true)
# If none is found, debootstrap uses its default.

packages() { chroot "$1" dpkg-query -W -f '${db:Status-Abbrev}\n' | grep -c '^ii'; }
# Megabytes of the system without the build, and of the build.
megabytes() { du -smx --exclude="$1/purview" "$1" | cut -f1; }
built() { du -smx "$1/purview" | cut -f1; }

# inside ROOT COMMAND...: runs the command in ROOT, with separate mount and process namespaces.
inside() {
    root=$1
    shift
    unshare --mount --propagation private --pid --fork --kill-child sh -c '
        set -eu
        root=$1
        shift
        mount -t proc proc "$root/proc"
        mount --rbind /sys "$root/sys" 2>/dev/null || true
        mkdir -p "$root/dev/pts" "$root/dev/shm"
        mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$root/dev/pts"
        ln -sf pts/ptmx "$root/dev/ptmx"
        mount -t tmpfs tmpfs "$root/dev/shm"
        exec chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
            ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} ${no_proxy:+"no_proxy=$no_proxy"} \
            sh -c "cd /purview && rm -f build/exit_code; \"\$@\"; echo \$? >build/exit_code" inside "$@"
    ' inside "$root" "$@"
}

bad=0
for release in "$@"; do
    root=$base/$release
    printf '\n=== %s: debootstrap\n' "$release"
    rm -rf "$root"
    mkdir -p "$root"
    debootstrap --variant=minbase "$release" "$root" ${mirror:+"$mirror"} >"$base/$release.log" 2>&1 || { tail -n 20 "$base/$release.log"; exit 1; }
    apt-config dump | grep -E '^Acquire::(http|https|ftp|Check-Date|Check-Valid-Until)\b' >"$root/etc/apt/apt.conf.d/90host" || true
    chmod 600 "$root/etc/apt/apt.conf.d/90host"
    mkdir -p "$root/purview"
    git archive HEAD | tar -x -C "$root/purview"
    printf '%s|(bare)|||%s|%s||\n' "$release" "$(packages "$root")" "$(megabytes "$root")" >>"$table"
    for command in "./dev demo --check --no-pace --seconds 10 --bots 50 --port 0" "./dev test"; do
        printf '\n=== %s: %s\n' "$release" "$command"
        begin=$(date +%s)
        verdict=passed
        # shellcheck disable=SC2086
        inside "$root" $command </dev/null 2>&1 | tee "$base/output" || true
        # The exit code of the pipe is that of tee, so it is read from a file.
        code=$(cat "$root/purview/build/exit_code" 2>/dev/null || echo 1)
        if [ "$code" != 0 ]; then
            verdict="FAILED ($code)"
            bad=1
            cp "$root/purview/build/release/ctest.log" "$base/$release-ctest.log" 2>/dev/null || true
        fi
        summary=$(grep -a ' passed, .* failed\|relevant sets checked' "$base/output" | tail -n 1 | sed 's/^[a-z]*: //' || true)
        end=$(date +%s)
        printf '%s|%s|%s|%s|%s|%s|%s|%s\n' "$release" "${command%% --check*}" "$(((end - begin) / 60)).$(((end - begin) % 60 / 6))" \
            "$verdict" "$(packages "$root")" "$(megabytes "$root")" "$(built "$root")" "$summary" >>"$table"
    done
    [ $keep = yes ] || rm -rf "$root"
done

printf '\n%-9s %-11s %8s %-10s %9s %10s %9s  %s\n' release command minutes verdict packages system_MB built_MB result
while IFS='|' read -r release command minutes verdict count system build summary; do
    printf '%-9s %-11s %8s %-10s %9s %10s %9s  %s\n' "$release" "$command" "$minutes" "$verdict" "$count" "$system" "$build" "$summary"
done <"$table"
exit $bad
