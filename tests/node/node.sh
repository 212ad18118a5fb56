#!/bin/sh
# One node: the first process of namespaces of its own, so that all it starts and mounts ends with
# it. Usage: node.sh FOLDER PROGRAMS IMAGES NAME ADDRESS LABELS STORAGE...
# STORAGE is the command of the driver that mounts volumes.
set -eu
folder=$1 programs=$2 images=$3 name=$4 address=$5 labels=$6
shift 6
export PATH="$programs:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Pods on the network of the node have its hostname, by which Open MPI tells nodes apart.
echo "$name" >/proc/sys/kernel/hostname
# Volumes that a pod mounts are seen by the kubelet, and the other way round.
mount --make-rshared /
for place in /run /var/log /var/lib/cni; do
    mkdir -p "$place"
    mount -t tmpfs tmpfs "$place"
done
mkdir -p /run/lock "$folder/kubelet"

containerd --config "$folder/containerd.toml" >"$folder/containerd.log" 2>&1 &
until ctr -a "$folder/containerd.sock" version >"$folder/images.log" 2>&1; do sleep 0.2; done
for image in "$images"/*.tar; do
    ctr -a "$folder/containerd.sock" -n k8s.io images import --local "$image" \
        >>"$folder/images.log" 2>&1
done

kubelet --config="$folder/kubelet.yaml" --kubeconfig="$folder/../nodes.kubeconfig" \
    --root-dir="$folder/kubelet" --cert-dir="$folder/kubelet/pki" --hostname-override="$name" \
    --node-ip="$address" --node-labels="$labels" >"$folder/kubelet.log" 2>&1 &
kube-proxy --config="$folder/proxy.yaml" >"$folder/proxy.log" 2>&1 &
"$@" >"$folder/storage.log" 2>&1 &
# The loop collects processes whose parents are gone: those of containers are ours then.
while :; do wait; sleep 1; done
