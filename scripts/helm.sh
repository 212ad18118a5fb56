#!/bin/sh
# Builds Helm from its Go module and downloads the definitions of operators for which the chart has objects, unless
# they are kept in ~/.cache/quartermaster already.
# Usage: helm.sh PYTHON
set -eu

if [ "${QUARTERMASTER_TEST_CLUSTER:-}" = 1 ]; then exit 0; fi
if ! command -v go >/dev/null; then
    echo "The tests of the Helm chart need Go, which builds Helm. To install it:" >&2
    echo "  Debian, Ubuntu: Go from go.dev/dl" >&2
    echo "  macOS:          brew install go" >&2
    exit 1
fi
echo "Building Helm, unless it is cached ..."
"$1" -m tests.deploy.helm_program
"$1" -m tests.deploy.operators
