#!/bin/sh
# Builds .venv from uv.lock, with hashes checked, and .venv-lint for what reads the sources alone.
# uv itself stays in .venv-tools, because a sync removes from .venv whatever the lock does not name.
set -eu

UV_VERSION=0.13.8
uv=.venv-tools/bin/uv

# SETUP_PYTHON is tried first.
find_python() {
    for name in ${SETUP_PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    echo "Python 3.11 or later is needed; python3 here is: $(python3 --version 2>&1)." >&2
    echo "Debian, Ubuntu: sudo apt-get install python3 python3-venv" >&2
    echo "macOS:          brew install python@3.13" >&2
    return 1
}

install_uv() {
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        echo "$python cannot create virtual environments: its venv module is missing." >&2
        echo "Debian, Ubuntu: sudo apt-get install python3-venv" >&2
        return 1
    fi
    echo "Installing uv $UV_VERSION into .venv-tools ..."
    "$python" -m venv --clear .venv-tools
    .venv-tools/bin/python -m pip install --quiet --disable-pip-version-check "uv==$UV_VERSION"
}

python=$(find_python)
case "$("$uv" --version 2>/dev/null || true)" in
    "uv $UV_VERSION"*) ;;
    *) install_uv ;;
esac
echo "Installing the packages of uv.lock into .venv, with $("$python" --version) (the first time takes a minute) ..."
export UV_PYTHON_DOWNLOADS=never
"$uv" sync --quiet --frozen --all-packages --python "$python"
UV_PROJECT_ENVIRONMENT=.venv-lint "$uv" sync --quiet --frozen --only-group lint --python "$python"
