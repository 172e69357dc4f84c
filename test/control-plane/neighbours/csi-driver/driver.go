package main

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The three services of one socket.
type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer
	csi.UnimplementedNodeServer
	name string
	key  string
	// Empty for the one that reaches all pools.
	node  string
	store *store
}

func (d *driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: d.name, VendorVersion: "1"}, nil
}

func (d *driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}

func (d *driver) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	answer := &csi.GetPluginCapabilitiesResponse{}
	for _, one := range []csi.PluginCapability_Service_Type{
		csi.PluginCapability_Service_CONTROLLER_SERVICE,
		csi.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS,
	} {
		service := &csi.PluginCapability_Service_{Service: &csi.PluginCapability_Service{Type: one}}
		answer.Capabilities = append(answer.Capabilities, &csi.PluginCapability{Type: service})
	}
	return answer, nil
}

func (d *driver) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	answer := &csi.ControllerGetCapabilitiesResponse{}
	for _, one := range []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csi.ControllerServiceCapability_RPC_GET_CAPACITY,
	} {
		rpc := &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: one}}
		answer.Capabilities = append(answer.Capabilities, &csi.ControllerServiceCapability{Type: rpc})
	}
	return answer, nil
}

func (d *driver) CreateVolume(ctx context.Context, request *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	size := request.GetCapacityRange().GetRequiredBytes()
	segments := d.segmentsOf(request.GetAccessibilityRequirements())
	if len(segments) == 0 {
		return nil, status.Error(codes.InvalidArgument, "the request names no topology of this driver")
	}
	made, err := d.store.create(ctx, request.GetName(), size, segments)
	if err != nil {
		return nil, err
	}
	return &csi.CreateVolumeResponse{Volume: &csi.Volume{
		VolumeId:           request.GetName(),
		CapacityBytes:      made.Bytes,
		AccessibleTopology: []*csi.Topology{{Segments: map[string]string{d.key: made.Segment}}},
	}}, nil
}

// The best first; external-provisioner puts the selected node's first, and unless it runs with --strict-topology all others after it.
func (d *driver) segmentsOf(requirement *csi.TopologyRequirement) []string {
	if d.node != "" {
		return []string{d.node}
	}
	segments := []string{}
	for _, topology := range requirement.GetPreferred() {
		if segment, named := topology.GetSegments()[d.key]; named {
			segments = append(segments, segment)
		}
	}
	return segments
}

func (d *driver) DeleteVolume(_ context.Context, request *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	if err := d.store.remove(request.GetVolumeId()); err != nil {
		return nil, err
	}
	return &csi.DeleteVolumeResponse{}, nil
}

func (d *driver) GetCapacity(_ context.Context, request *csi.GetCapacityRequest) (*csi.GetCapacityResponse, error) {
	segment := request.GetAccessibleTopology().GetSegments()[d.key]
	free := d.store.published(segment)
	return &csi.GetCapacityResponse{AvailableCapacity: free, MaximumVolumeSize: wrapperspb.Int64(free)}, nil
}

func (d *driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	topology := &csi.Topology{Segments: map[string]string{d.key: d.node}}
	return &csi.NodeGetInfoResponse{NodeId: d.node, AccessibleTopology: topology}, nil
}

func (d *driver) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{}, nil
}
