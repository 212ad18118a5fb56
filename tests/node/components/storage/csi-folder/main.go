// A CSI driver for tests: each volume is a folder below one that all nodes share.
//
// Run with -node it also mounts volumes on that node and registers itself with its kubelet.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os"
	"path/filepath"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

func main() {
	name := flag.String("name", "", "the driver's name, as in its CSIDriver object")
	data := flag.String("data", "", "the folder of all volumes and snapshots")
	socket := flag.String("socket", "", "where the driver listens")
	node := flag.String("node", "", "the node whose pods get volumes; without it none do")
	plugins := flag.String("plugins", "", "the kubelet's plugins_registry, to register there")
	flag.Parse()
	server := grpc.NewServer(grpc.UnaryInterceptor(logged))
	csi.RegisterIdentityServer(server, &identity{name: *name})
	kept, err := openStore(*data)
	if err != nil {
		log.Fatal(err)
	}
	csi.RegisterControllerServer(server, &controller{kept: kept})
	if *node != "" {
		csi.RegisterNodeServer(server, &onNode{name: *node, kept: kept})
	}
	if *plugins != "" {
		go register(*plugins, *name, *socket)
	}
	log.Fatal(server.Serve(listen(*socket)))
}

// register answers the kubelet, which asks whoever listens in its folder.
func register(plugins, name, endpoint string) {
	if err := os.MkdirAll(plugins, 0o750); err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(logged))
	registration.RegisterRegistrationServer(server, &registrar{name: name, endpoint: endpoint})
	log.Fatal(server.Serve(listen(filepath.Join(plugins, "folder-reg.sock"))))
}

func listen(socket string) net.Listener {
	os.Remove(socket)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		log.Fatal(err)
	}
	return listener
}

func logged(
	ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
) (any, error) {
	answer, err := handle(ctx, request)
	log.Printf("%s %v: %v", info.FullMethod, request, err)
	return answer, err
}
