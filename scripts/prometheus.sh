#!/bin/sh
# Looks for a Prometheus server, which some tests start for themselves; takes the program out of
# Debian's package where it can (into a cache, not installed: that would start a service), else
# says how. Without it those tests are skipped.
set -eu

cache="${XDG_CACHE_HOME:-$HOME/.cache}/quartermaster/prometheus"
if command -v prometheus >/dev/null && command -v promtool >/dev/null; then exit 0; fi
if [ -x "$cache/usr/bin/promtool" ]; then exit 0; fi

if [ -f /etc/debian_version ] && command -v dpkg-deb >/dev/null; then
    echo "Downloading Debian's prometheus for the tests that need a server ..."
    work="$(mktemp -d)"
    trap 'rm -rf "$work"' EXIT
    # apt's own user writes there when root calls it.
    chmod 755 "$work"
    if (cd "$work" && { apt-get download -q prometheus ||
        { apt-get update -qq && apt-get download -q prometheus; }; }) >"$work/log" 2>&1; then
        mkdir -p "$cache"
        dpkg-deb -x "$work"/prometheus_*.deb "$work/files"
        rm -rf "$cache"
        mv "$work/files" "$cache"
        exit 0
    fi
    tail -n 5 "$work/log" >&2
    echo "The download failed." >&2
    if [ "${CI:-}" = true ]; then exit 1; fi
fi
echo "Prometheus is not installed, so the tests that need it are skipped. To run them:"
echo "  Debian, Ubuntu: sudo apt-get install prometheus"
echo "  macOS:          brew install prometheus"
