package main

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type volume struct {
	Name    string `json:"name"`
	Segment string `json:"segment"`
	Bytes   int64  `json:"bytes"`
	// Before that it takes up its room but is not there.
	ready time.Time
}

// One CreateVolume, as it went.
type call struct {
	Name string `json:"name"`
	// Segments that it named, the best first.
	Segments []string `json:"segments"`
	// A gRPC code.
	Code string `json:"code"`
}

// What a test sets, all of it at once.
type settings struct {
	// Size of each segment's pool in bytes.
	Pools map[string]int64 `json:"pools"`
	// What GetCapacity says instead of what is free, in bytes by segment.
	Published map[string]int64 `json:"published"`
	// How long it takes to make a volume. It is made to its end whether or not the caller waits for it.
	CreateMs int64 `json:"createMs"`
	// Whether a volume that does not fit where it is wanted goes to the next segment that the request allows.
	Spills bool `json:"spills"`
	// Of the next calls to CreateVolume for the segment that each names.
	Faults []fault `json:"faults"`
}

type fault struct {
	Segment string `json:"segment"`
	// A gRPC code's number.
	Code  codes.Code `json:"code"`
	Times int        `json:"times"`
	// The volume is made all the same, as far as there is room: the code is only what the caller hears.
	GoesOn bool `json:"goesOn"`
}

type store struct {
	lock     sync.Mutex
	settings settings
	volumes  map[string]*volume
	calls    []call
}

func newStore() *store {
	return &store{volumes: map[string]*volume{}}
}

// Finds what an earlier call made or has begun to make. Errors are those of the CSI specification: Aborted while an operation on the
// volume is pending, ResourceExhausted where the pool is full.
func (s *store) create(ctx context.Context, name string, size int64, segments []string) (*volume, error) {
	made, err := s.begin(name, size, segments)
	if err == nil {
		select {
		case <-time.After(time.Until(made.ready)):
		case <-ctx.Done():
			// At its deadline the caller may also cancel; what it hears is this.
			err = status.Error(codes.DeadlineExceeded, "the volume is still being created")
		}
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.calls = append(s.calls, call{Name: name, Segments: segments, Code: status.Code(err).String()})
	return made, err
}

func (s *store) begin(name string, size int64, segments []string) (*volume, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if begun, exists := s.volumes[name]; exists {
		if time.Now().Before(begun.ready) {
			return nil, status.Errorf(codes.Aborted, "volume %s is being created", name)
		}
		return begun, nil
	}
	fault := s.fault(segments[0])
	if fault != nil && !fault.GoesOn {
		return nil, status.Errorf(fault.Code, "a fault of segment %s", segments[0])
	}
	if !s.settings.Spills {
		segments = segments[:1]
	}
	for _, segment := range segments {
		if s.free(segment) < size {
			continue
		}
		takes := time.Duration(s.settings.CreateMs) * time.Millisecond
		made := &volume{Name: name, Segment: segment, Bytes: size, ready: time.Now().Add(takes)}
		s.volumes[name] = made
		if fault != nil {
			return nil, status.Errorf(fault.Code, "a fault of segment %s", segment)
		}
		return made, nil
	}
	return nil, status.Errorf(codes.ResourceExhausted, "segment %s has less than %d bytes left", segments[0], size)
}

func (s *store) fault(segment string) *fault {
	for index := range s.settings.Faults {
		one := &s.settings.Faults[index]
		if one.Segment == segment && one.Times > 0 {
			one.Times--
			return one
		}
	}
	return nil
}

func (s *store) free(segment string) int64 {
	free := s.settings.Pools[segment]
	for _, volume := range s.volumes {
		if volume.Segment == segment {
			free -= volume.Bytes
		}
	}
	return free
}

func (s *store) published(segment string) int64 {
	s.lock.Lock()
	defer s.lock.Unlock()
	if told, exists := s.settings.Published[segment]; exists {
		return told
	}
	return max(0, s.free(segment))
}

func (s *store) remove(name string) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if volume, exists := s.volumes[name]; exists && time.Now().Before(volume.ready) {
		return status.Errorf(codes.Aborted, "volume %s is being created", name)
	}
	delete(s.volumes, name)
	return nil
}

// PUT sets the settings; GET says which volumes there are and which calls there were.
func controlOf(s *store) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		s.lock.Lock()
		defer s.lock.Unlock()
		if request.Method == http.MethodPut {
			next := settings{}
			if err := json.NewDecoder(request.Body).Decode(&next); err != nil {
				http.Error(writer, err.Error(), http.StatusBadRequest)
				return
			}
			s.settings = next
		}
		volumes := []*volume{}
		for _, volume := range s.volumes {
			volumes = append(volumes, volume)
		}
		writer.Header().Set("content-type", "application/json")
		json.NewEncoder(writer).Encode(map[string]any{"volumes": volumes, "calls": append([]call{}, s.calls...)})
	})
}
