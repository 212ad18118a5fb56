#!/bin/sh
# Looks for a PostgreSQL server's programs, which some tests start for themselves; installs
# Debian's when it may, else says how. Without them those tests are skipped.
set -eu

for programs in "$(command -v initdb || true)" /usr/lib/postgresql/*/bin/initdb \
    /opt/homebrew/opt/postgresql*/bin/initdb /usr/local/opt/postgresql*/bin/initdb; do
    if [ -x "$programs" ]; then exit 0; fi
done

if [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ]; then
    echo "Installing Debian's postgresql for the tests that need a server ..."
    export DEBIAN_FRONTEND=noninteractive
    if { apt-get update -qq && apt-get install -qq --yes --no-install-recommends postgresql; } \
        >/tmp/quartermaster-postgresql.log 2>&1; then
        exit 0
    fi
    tail -n 5 /tmp/quartermaster-postgresql.log >&2
    echo "The installation failed." >&2
    if [ "${CI:-}" = true ]; then exit 1; fi
fi
echo "PostgreSQL is not installed, so the tests that need a server are skipped. To run them:"
echo "  Debian, Ubuntu: sudo apt-get install postgresql"
echo "  macOS:          brew install postgresql"
