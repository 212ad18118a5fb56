module quartermaster/tests/node/components

go 1.26.8

require (
	github.com/containerd/containerd/v2 v2.3.7
	github.com/containernetworking/plugins v1.9.1
	github.com/coredns/coredns v1.14.7
)
