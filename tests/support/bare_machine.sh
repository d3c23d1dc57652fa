#!/usr/bin/env bash
# A bare Debian 12 in FOLDER, a clone of HEAD in it, and `make quick` there: tests/support/bare_machine.sh FOLDER [TARGET]
#
# The machine has python3, python3-venv, make, git and certificates, nothing else. Needs root, mmdebstrap and a mirror of
# Debian. SOURCES names another file of apt sources, WHEELS a folder of wheels that the machine's registry lacks; the
# variables of pip and of certificates that are set here are passed on.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=${1:?wanted a folder for the machine} target=${2:-quick}
sources=${SOURCES:-/etc/apt/sources.list.d/debian.sources}
stop() { echo "$1" >&2; exit 1; }
[ "$(id -u)" = 0 ] || stop "a bare machine needs root, for chroot"
command -v mmdebstrap >/dev/null || stop "mmdebstrap is missing; on Debian: apt install mmdebstrap"
[ -f "$sources" ] || stop "$sources is no file; name your apt sources: SOURCES=FILE"
[ ! -e "$folder" ] || stop "$folder exists; name a folder that does not"

mmdebstrap --quiet --variant=minbase --include=python3,python3-venv,make,git,ca-certificates bookworm "$folder" "$sources"
certificates=${PIP_CERT:-/etc/ssl/certs/ca-certificates.crt}
cp "$certificates" "$folder/etc/ssl/certs/ca-certificates.crt"
cp /etc/resolv.conf "$folder/etc/resolv.conf"
git bundle create --quiet "$folder/srv/soden.bundle" HEAD
passed=(HOME=/srv PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt)
for name in PIP_INDEX_URL PIP_EXTRA_INDEX_URL http_proxy https_proxy no_proxy; do
  [ -z "${!name:-}" ] || passed+=("$name=${!name}")
done
[ -z "${SSL_CERT_FILE:-}${PIP_CERT:-}" ] || passed+=(PIP_CERT=/etc/ssl/certs/ca-certificates.crt)
if [ -n "${WHEELS:-}" ]; then
  mkdir "$folder/srv/wheels"
  cp "$WHEELS"/*.whl "$folder/srv/wheels"
  passed+=(PIP_FIND_LINKS=/srv/wheels)
fi
# The machine's /proc and /dev are mounted in a namespace of its own, which ends with it: nothing is left mounted in FOLDER.
# /usr/bin/python3 is Python 3.11 on Debian 12; nothing is named that a visitor would not type.
env -i "${passed[@]}" unshare --mount sh -ec '
  mount --bind /proc "$1/proc"
  mount --bind /dev "$1/dev"
  exec chroot "$1" sh -ec "
    cd /srv
    git -c advice.detachedHead=false clone -q soden.bundle soden
    cd soden
    make $2"' sh "$folder" "$target"
