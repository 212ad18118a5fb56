#!/bin/sh
# Builds what the tests on a real control plane start for themselves, from Go modules, unless it is
# kept in ~/.cache/quartermaster already. The first build takes long.
# Usage: control_plane.sh PYTHON
set -eu

if [ "${QUARTERMASTER_TEST_CLUSTER:-}" = 1 ]; then exit 0; fi
for program in go openssl; do
    if ! command -v "$program" >/dev/null; then
        echo "The tests on a real control plane need $program. To install it:" >&2
        echo "  Debian, Ubuntu: sudo apt-get install openssl, and Go from go.dev/dl" >&2
        echo "  macOS:          brew install openssl go" >&2
        exit 1
    fi
done
echo "Building the control plane, unless it is cached ..."
"$1" -m tests.cluster.building
