#!/bin/sh
# Looks for strace, with which some tests see what the bot has synced; installs Debian's when it
# may, else says how. Without it those tests are skipped.
set -eu

if command -v strace >/dev/null; then exit 0; fi
if [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ]; then
    echo "Installing Debian's strace for the tests of lost power ..."
    export DEBIAN_FRONTEND=noninteractive
    if { apt-get update -qq && apt-get install -qq --yes --no-install-recommends strace; } \
        >/tmp/quartermaster-strace.log 2>&1; then
        exit 0
    fi
    tail -n 5 /tmp/quartermaster-strace.log >&2
    echo "The installation failed." >&2
    if [ "${CI:-}" = true ]; then exit 1; fi
fi
echo "strace is not installed, so the tests of lost power are skipped. To run them, on Linux:"
echo "  Debian, Ubuntu: sudo apt-get install strace"
