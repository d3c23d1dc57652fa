#!/usr/bin/env bash
# The wheels of this folder, from the source archives in sources.txt, into the folder $1: the same bytes every time.
# This runs the three packages' setup.py; `make setup` never does.
set -euo pipefail
out=$(realpath -m "${1:?the folder to write to}")
cd "$(dirname "$0")/../.."
SOURCE_DATE_EPOCH=315532800 .venv/bin/python -m pip wheel --quiet --disable-pip-version-check --no-cache-dir --no-deps \
  --no-build-isolation --no-binary :all: --require-hashes --wheel-dir "$out" -r .ci/wheels/sources.txt
