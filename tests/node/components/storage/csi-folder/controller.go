package main

import (
	"context"
	"slices"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const defaultSize = 1 << 30

// Parameters of storage classes and of volume snapshot classes.
const (
	// What the driver answers instead of making a volume or taking a snapshot.
	fails = "fails"
	// After how long a snapshot is ready to use, such as 5s: at once otherwise.
	readyAfter = "readyAfter"
)

// controller makes and removes volumes and snapshots. Sizes are noted, and bind nobody.
type controller struct {
	csi.UnimplementedControllerServer
	kept *store
}

func (*controller) ControllerGetCapabilities(
	context.Context, *csi.ControllerGetCapabilitiesRequest,
) (*csi.ControllerGetCapabilitiesResponse, error) {
	answer := &csi.ControllerGetCapabilitiesResponse{}
	for _, kind := range []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
		csi.ControllerServiceCapability_RPC_CLONE_VOLUME,
		csi.ControllerServiceCapability_RPC_EXPAND_VOLUME,
		csi.ControllerServiceCapability_RPC_LIST_VOLUMES,
		csi.ControllerServiceCapability_RPC_LIST_SNAPSHOTS,
		csi.ControllerServiceCapability_RPC_GET_CAPACITY,
		csi.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
	} {
		row := &csi.ControllerServiceCapability_RPC{Type: kind}
		answer.Capabilities = append(answer.Capabilities, &csi.ControllerServiceCapability{
			Type: &csi.ControllerServiceCapability_Rpc{Rpc: row},
		})
	}
	return answer, nil
}

func (c *controller) CreateVolume(
	_ context.Context, request *csi.CreateVolumeRequest,
) (*csi.CreateVolumeResponse, error) {
	if request.Name == "" {
		return nil, missing("name")
	}
	if err := check(request.VolumeCapabilities); err != nil {
		return nil, err
	}
	if words := request.Parameters[fails]; words != "" {
		return nil, status.Error(codes.Internal, words)
	}
	c.kept.Lock()
	defer c.kept.Unlock()
	from, least, err := c.sourceOf(request.VolumeContentSource)
	if err != nil {
		return nil, err
	}
	found, err := c.kept.find(volumes, idOf(request.Name))
	if err != nil {
		return nil, err
	}
	if found == nil {
		found = &record{ID: idOf(request.Name), Name: request.Name, Created: time.Now()}
		found.Size, found.Source = sizeOf(request.CapacityRange, least), from
		if !fits(found.Size, request.CapacityRange) || found.Size < least {
			return nil, status.Errorf(codes.OutOfRange, "its source holds %d bytes", least)
		}
		if err := c.kept.add(volumes, found); err != nil {
			return nil, err
		}
	}
	if found.Source != from || !fits(found.Size, request.CapacityRange) {
		return nil, status.Errorf(codes.AlreadyExists, "volume %s is another one", request.Name)
	}
	made := told(found)
	made.ContentSource = request.VolumeContentSource
	return &csi.CreateVolumeResponse{Volume: made}, nil
}

// sourceOf returns what a volume is to be copied from, and how large that is.
func (c *controller) sourceOf(asked *csi.VolumeContentSource) (source, int64, error) {
	var from source
	switch {
	case asked.GetSnapshot() != nil:
		from = source{Kind: snapshots, ID: asked.GetSnapshot().SnapshotId}
	case asked.GetVolume() != nil:
		from = source{Kind: volumes, ID: asked.GetVolume().VolumeId}
	default:
		return from, 0, nil
	}
	found, err := c.kept.find(from.Kind, from.ID)
	if err != nil {
		return from, 0, err
	}
	if found == nil {
		return from, 0, unknown(from.Kind, from.ID)
	}
	return from, found.Size, nil
}

func (c *controller) DeleteVolume(
	_ context.Context, request *csi.DeleteVolumeRequest,
) (*csi.DeleteVolumeResponse, error) {
	if request.VolumeId == "" {
		return nil, missing("volume id")
	}
	c.kept.Lock()
	defer c.kept.Unlock()
	return &csi.DeleteVolumeResponse{}, c.kept.remove(volumes, request.VolumeId)
}

func (c *controller) ValidateVolumeCapabilities(
	_ context.Context, request *csi.ValidateVolumeCapabilitiesRequest,
) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	if request.VolumeId == "" {
		return nil, missing("volume id")
	}
	if len(request.VolumeCapabilities) == 0 {
		return nil, missing("volume capabilities")
	}
	found, err := c.kept.find(volumes, request.VolumeId)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, unknown(volumes, request.VolumeId)
	}
	if err := check(request.VolumeCapabilities); err != nil {
		return &csi.ValidateVolumeCapabilitiesResponse{Message: err.Error()}, nil
	}
	confirmed := &csi.ValidateVolumeCapabilitiesResponse_Confirmed{
		VolumeContext:      request.VolumeContext,
		VolumeCapabilities: request.VolumeCapabilities,
		Parameters:         request.Parameters,
	}
	return &csi.ValidateVolumeCapabilitiesResponse{Confirmed: confirmed}, nil
}

func (c *controller) ListVolumes(
	_ context.Context, request *csi.ListVolumesRequest,
) (*csi.ListVolumesResponse, error) {
	found, err := c.kept.list(volumes)
	if err != nil {
		return nil, err
	}
	found, next, err := page(found, request.StartingToken, request.MaxEntries)
	if err != nil {
		return nil, err
	}
	answer := &csi.ListVolumesResponse{NextToken: next}
	for _, each := range found {
		answer.Entries = append(answer.Entries, &csi.ListVolumesResponse_Entry{Volume: told(each)})
	}
	return answer, nil
}

func (c *controller) GetCapacity(
	context.Context, *csi.GetCapacityRequest,
) (*csi.GetCapacityResponse, error) {
	var room unix.Statfs_t
	if err := unix.Statfs(c.kept.root, &room); err != nil {
		return nil, err
	}
	return &csi.GetCapacityResponse{AvailableCapacity: int64(room.Bavail) * room.Bsize}, nil
}

func (c *controller) ControllerExpandVolume(
	_ context.Context, request *csi.ControllerExpandVolumeRequest,
) (*csi.ControllerExpandVolumeResponse, error) {
	if request.VolumeId == "" {
		return nil, missing("volume id")
	}
	if request.CapacityRange == nil {
		return nil, missing("capacity range")
	}
	c.kept.Lock()
	defer c.kept.Unlock()
	found, err := c.kept.find(volumes, request.VolumeId)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, unknown(volumes, request.VolumeId)
	}
	if found.Size < request.CapacityRange.RequiredBytes {
		found.Size = request.CapacityRange.RequiredBytes
		if err := c.kept.change(volumes, found); err != nil {
			return nil, err
		}
	}
	return &csi.ControllerExpandVolumeResponse{CapacityBytes: found.Size}, nil
}

func (c *controller) CreateSnapshot(
	_ context.Context, request *csi.CreateSnapshotRequest,
) (*csi.CreateSnapshotResponse, error) {
	if request.Name == "" {
		return nil, missing("name")
	}
	if request.SourceVolumeId == "" {
		return nil, missing("source volume id")
	}
	if words := request.Parameters[fails]; words != "" {
		return nil, status.Error(codes.Internal, words)
	}
	c.kept.Lock()
	defer c.kept.Unlock()
	of, err := c.kept.find(volumes, request.SourceVolumeId)
	if err != nil {
		return nil, err
	}
	if of == nil {
		return nil, unknown(volumes, request.SourceVolumeId)
	}
	found, err := c.kept.find(snapshots, idOf(request.Name))
	if err != nil {
		return nil, err
	}
	if found == nil {
		found = &record{ID: idOf(request.Name), Name: request.Name, Size: of.Size}
		found.Source, found.Created = source{Kind: volumes, ID: of.ID}, time.Now()
		wait, _ := time.ParseDuration(request.Parameters[readyAfter])
		found.Ready = found.Created.Add(wait)
		if err := c.kept.add(snapshots, found); err != nil {
			return nil, err
		}
	}
	if found.Source.ID != of.ID {
		return nil, status.Errorf(codes.AlreadyExists, "snapshot %s is another one", request.Name)
	}
	return &csi.CreateSnapshotResponse{Snapshot: taken(found)}, nil
}

func (c *controller) DeleteSnapshot(
	_ context.Context, request *csi.DeleteSnapshotRequest,
) (*csi.DeleteSnapshotResponse, error) {
	if request.SnapshotId == "" {
		return nil, missing("snapshot id")
	}
	c.kept.Lock()
	defer c.kept.Unlock()
	return &csi.DeleteSnapshotResponse{}, c.kept.remove(snapshots, request.SnapshotId)
}

func (c *controller) ListSnapshots(
	_ context.Context, request *csi.ListSnapshotsRequest,
) (*csi.ListSnapshotsResponse, error) {
	found, err := c.kept.list(snapshots)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(each *record) bool {
		isOther := request.SnapshotId != "" && each.ID != request.SnapshotId
		isElsewhere := request.SourceVolumeId != "" && each.Source.ID != request.SourceVolumeId
		return isOther || isElsewhere
	})
	found, next, err := page(found, request.StartingToken, request.MaxEntries)
	if err != nil {
		return nil, err
	}
	answer := &csi.ListSnapshotsResponse{NextToken: next}
	for _, each := range found {
		row := &csi.ListSnapshotsResponse_Entry{Snapshot: taken(each)}
		answer.Entries = append(answer.Entries, row)
	}
	return answer, nil
}

// page returns what comes after a token, at most so many, and the token of the rest.
func page(found []*record, token string, most int32) ([]*record, string, error) {
	if token != "" {
		after := slices.IndexFunc(found, func(each *record) bool { return each.ID == token })
		if after < 0 {
			return nil, "", status.Errorf(codes.Aborted, "%q is no token of this list", token)
		}
		found = found[after+1:]
	}
	if most <= 0 || int(most) >= len(found) {
		return found, "", nil
	}
	return found[:most], found[most-1].ID, nil
}

func sizeOf(asked *csi.CapacityRange, least int64) int64 {
	switch {
	case asked.GetRequiredBytes() > 0:
		return asked.GetRequiredBytes()
	case least > 0:
		return least
	case asked.GetLimitBytes() > 0:
		return min(asked.GetLimitBytes(), defaultSize)
	}
	return defaultSize
}

func fits(size int64, asked *csi.CapacityRange) bool {
	most := asked.GetLimitBytes()
	return size >= asked.GetRequiredBytes() && (most == 0 || size <= most)
}

// check lets through what a folder can do: any access mode, and never a block device.
func check(asked []*csi.VolumeCapability) error {
	if len(asked) == 0 {
		return missing("volume capabilities")
	}
	for _, each := range asked {
		if each.GetMount() == nil {
			return status.Error(codes.InvalidArgument, "volumes are mounted, nothing else")
		}
	}
	return nil
}

func told(of *record) *csi.Volume {
	return &csi.Volume{VolumeId: of.ID, CapacityBytes: of.Size}
}

func taken(of *record) *csi.Snapshot {
	return &csi.Snapshot{
		SnapshotId:     of.ID,
		SourceVolumeId: of.Source.ID,
		SizeBytes:      of.Size,
		CreationTime:   timestamppb.New(of.Created),
		ReadyToUse:     !time.Now().Before(of.Ready),
	}
}

func missing(what string) error {
	return status.Errorf(codes.InvalidArgument, "no %s is given", what)
}

func unknown(kind, id string) error {
	return status.Errorf(codes.NotFound, "%s has no %s", kind, id)
}
