#!/bin/sh
# Builds what nodes of our own are made of, unless it is kept in ~/.cache/quartermaster already:
# kubelet, containerd, the operators (from Go modules), images (from Debian's packages), and the
# bot's own image (from the Dockerfile).
# Usage: nodes.sh PYTHON
set -eu

if [ "${QUARTERMASTER_TEST_CLUSTER:-}" = 1 ]; then exit 0; fi
if [ "$(uname -s)" != Linux ] || [ "$(id -u)" != 0 ]; then
    echo "The tests on nodes need Linux and root (namespaces, mounts, cgroups). Run this as root:" >&2
    echo "  sudo make test-node" >&2
    echo "Or use your own cluster; see docs/testing.md." >&2
    exit 1
fi
packages=''
need() {
    command -v "$1" >/dev/null || packages="$packages $2"
}
need ip iproute2
need nsenter util-linux
need runc runc
need nft nftables
need conntrack conntrack
need debootstrap debootstrap
need buildah buildah
need kubectl kubernetes-client
if [ -n "$packages" ]; then
    if [ ! -f /etc/debian_version ]; then
        echo "The tests on nodes need these programs (Debian package names):$packages" >&2
        exit 1
    fi
    echo "Installing$packages ..."
    apt-get update -qq
    # shellcheck disable=SC2086  # a list of names
    apt-get install -qq --yes --no-install-recommends $packages >/dev/null
fi
sh scripts/control_plane.sh "$1"
echo "Building the nodes, unless they are cached ..."
"$1" -m tests.node.building
"$1" -m tests.node.bot_image
