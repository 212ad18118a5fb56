#!/bin/sh
# Installs an MLflow server for the tests into a folder of its own (850 MB), unless it is there. The
# bot speaks MLflow's REST API and needs none of it.
# Usage: mlflow.sh PYTHON
set -eu

list=tests/bot/training/mlflow/requirements.txt
cache="${XDG_CACHE_HOME:-$HOME/.cache}/quartermaster/mlflow"
if cmp -s "$list" "$cache/requirements.txt"; then exit 0; fi

echo "Installing an MLflow server for the tests (850 MB) ..."
rm -rf "$cache"
mkdir -p "$cache"
"$1" -m venv "$cache/venv"
"$cache/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    --requirement "$list"
# Last, so that an interrupted installation begins again.
cp "$list" "$cache/requirements.txt"
