package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/mount-utils"
)

// onNode mounts volumes in the mount namespace that the driver was started in.
type onNode struct {
	csi.UnimplementedNodeServer
	name string
	kept *store
}

func (*onNode) NodeGetCapabilities(
	context.Context, *csi.NodeGetCapabilitiesRequest,
) (*csi.NodeGetCapabilitiesResponse, error) {
	row := &csi.NodeServiceCapability_RPC{
		Type: csi.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
	}
	return &csi.NodeGetCapabilitiesResponse{Capabilities: []*csi.NodeServiceCapability{
		{Type: &csi.NodeServiceCapability_Rpc{Rpc: row}},
	}}, nil
}

func (n *onNode) NodeGetInfo(
	context.Context, *csi.NodeGetInfoRequest,
) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: n.name}, nil
}

func (n *onNode) NodePublishVolume(
	_ context.Context, request *csi.NodePublishVolumeRequest,
) (*csi.NodePublishVolumeResponse, error) {
	if request.VolumeId == "" {
		return nil, missing("volume id")
	}
	if request.TargetPath == "" {
		return nil, missing("target path")
	}
	if err := check([]*csi.VolumeCapability{request.VolumeCapability}); err != nil {
		return nil, err
	}
	n.kept.Lock()
	defer n.kept.Unlock()
	found, err := n.kept.find(volumes, request.VolumeId)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, unknown(volumes, request.VolumeId)
	}
	return &csi.NodePublishVolumeResponse{}, n.publish(request)
}

func (n *onNode) publish(request *csi.NodePublishVolumeRequest) error {
	files, target := n.kept.files(volumes, request.VolumeId), request.TargetPath
	where, err := mountedAt(request.VolumeId)
	if err != nil {
		return err
	}
	if slices.Contains(where, target) {
		return nil
	}
	mode := request.VolumeCapability.GetAccessMode().GetMode()
	if mode == csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER && len(where) > 0 {
		return status.Errorf(codes.FailedPrecondition, "it is mounted at %s", where[0])
	}
	if err := os.MkdirAll(target, 0o750); err != nil {
		return err
	}
	options := []string{"bind"}
	if request.Readonly {
		options = append(options, "ro")
	}
	return mount.NewWithoutSystemd("").Mount(files, target, "", options)
}

func (n *onNode) NodeUnpublishVolume(
	_ context.Context, request *csi.NodeUnpublishVolumeRequest,
) (*csi.NodeUnpublishVolumeResponse, error) {
	if request.VolumeId == "" {
		return nil, missing("volume id")
	}
	if request.TargetPath == "" {
		return nil, missing("target path")
	}
	n.kept.Lock()
	defer n.kept.Unlock()
	err := mount.CleanupMountPoint(request.TargetPath, mount.NewWithoutSystemd(""), true)
	return &csi.NodeUnpublishVolumeResponse{}, err
}

// mountedAt returns where the files of a volume are mounted.
func mountedAt(id string) ([]string, error) {
	mounts, err := mount.ParseMountInfo("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, each := range mounts {
		if strings.HasSuffix(each.Root, "/"+id+"/files") {
			found = append(found, each.MountPoint)
		}
	}
	return found, nil
}
