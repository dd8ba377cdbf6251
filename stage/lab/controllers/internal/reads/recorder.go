package reads

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/features"
)

const (
	controllers = "github.com/stagecraft-go/stagecraft/stage/lab/controllers/"
	accessors   = controllers + "internal/fields."
	objects     = "github.com/stagecraft-go/stagecraft/stage/lab/internal/object."
)

// notControllers are the packages below controllers that read fields for another purpose.
var notControllers = []string{"internal/reads.", "internal/clustertest.", "features."}

// A kind is apiVersion and kind.
type kind struct{ apiVersion, name string }

// A place is where a map is in an object.
type place struct {
	kind
	path string
}

// A known map has several places if objects share it.
type known struct {
	places []place
	held   map[string]any // so that no other map gets its address
}

// A recorder records which fields were read: by kind and path, with the function of a controller
// that read the field. The function is "" for other readers. It is also "" for a map with several
// places, because the reader means only one of them.
type recorder struct {
	mu      sync.Mutex
	maps    map[uintptr]known
	objects map[kind]int // how many were seen first
	seen    map[kind]map[string]string
}

func newRecorder() *recorder {
	return &recorder{maps: map[uintptr]known{}, objects: map[kind]int{}, seen: map[kind]map[string]string{}}
}

// of returns the reads of a kind.
func (r *recorder) of(k features.Kind) map[string]string {
	apiVersion, name := schema.GroupVersionKind(k.GroupVersionKind).ToAPIVersionAndKind()
	return r.seen[kind{apiVersion, name}]
}

// The recorder knows the maps of the first allOf objects of each kind, and then those of one in
// oneOf, because this takes most of the time. It always knows reads with a path from the root.
const (
	allOf = 10_000
	oneOf = 20
)

// mostMaps bounds the memory of the recorder. The recorder finds maps again when their object is
// read next.
const mostMaps = 200_000

// read notes the read of a path below a map.
func (r *recorder) read(m map[string]any, path []string) {
	if len(m) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	places, isKnown := r.placesOf(m)
	for _, at := range places {
		field := strings.TrimPrefix(at.path+"."+strings.Join(path, "."), ".")
		if isKnown {
			r.addNew(place{at.kind, field}, valueAt(m, path))
		}
		r.note(at.kind, field, len(places) == 1)
	}
}

// note notes a read, and the reader if the place is certain.
func (r *recorder) note(k kind, field string, isCertain bool) {
	switch root, _, _ := strings.Cut(field, "."); root {
	case "", "metadata", "kind", "apiVersion":
		return
	}
	fields := r.seen[k]
	if fields == nil {
		fields = map[string]string{}
		r.seen[k] = fields
	}
	switch by, isSeen := fields[field]; {
	case isCertain && by == "":
		fields[field] = reader()
	case !isSeen:
		fields[field] = ""
	}
}

// placesOf finds a map in the objects so far, or as an object. It is false for the root of an object
// whose maps are left out.
func (r *recorder) placesOf(m map[string]any) ([]place, bool) {
	if known, ok := r.maps[address(m)]; ok {
		return known.places, true
	}
	apiVersion, _ := m["apiVersion"].(string)
	name, _ := m["kind"].(string)
	if _, isObject := m["metadata"].(map[string]any); !isObject || apiVersion == "" || name == "" {
		return nil, false // a reference to an object has no metadata
	}
	if len(r.maps) > mostMaps {
		clear(r.maps)
	}
	at := place{kind: kind{apiVersion, name}}
	if r.objects[at.kind]++; r.objects[at.kind] > allOf && r.objects[at.kind]%oneOf != 0 {
		return []place{at}, false
	}
	r.add(at, m)
	return r.maps[address(m)].places, true
}

// valueAt returns what a path leads to, nil if nothing.
func valueAt(m map[string]any, path []string) any {
	var v any = m
	for _, key := range path {
		within, _ := v.(map[string]any)
		v = within[key]
	}
	return v
}

// addNew adds what was read if it was set after its object was first seen: a controller fills objects in
// before it creates them.
func (r *recorder) addNew(at place, v any) {
	m, _ := v.(map[string]any)
	if list, ok := v.([]any); ok && len(list) > 0 {
		m, _ = list[0].(map[string]any)
	}
	if _, known := r.maps[address(m)]; !known && len(m) > 0 {
		r.add(at, v)
	}
}

func address(m map[string]any) uintptr { return reflect.ValueOf(m).Pointer() }

// add notes where a value and all below it are.
func (r *recorder) add(at place, v any) {
	switch v := v.(type) {
	case map[string]any:
		was := r.maps[address(v)].places
		if slices.Contains(was, at) && len(v) > 0 {
			return // with all below it
		}
		r.maps[address(v)] = known{append(slices.Clone(was), at), v}
		for key, below := range v {
			r.add(place{at.kind, strings.TrimPrefix(at.path+"."+key, ".")}, below)
		}
	case []any:
		for _, below := range v {
			r.add(place{at.kind, at.path + "[]"}, below)
		}
	}
}

// reader returns the controller function that reads, and the place; "" outside controllers.
func reader() string {
	var pcs [12]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(4, pcs[:])])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, objects) && !strings.HasPrefix(f.Function, accessors) && !strings.HasPrefix(f.Function, controllers+"internal/reads.") {
			return controller(f)
		}
		if !more {
			return ""
		}
	}
}

func controller(f runtime.Frame) string {
	name, ok := strings.CutPrefix(f.Function, controllers)
	if !ok || strings.HasSuffix(f.File, "_test.go") {
		return ""
	}
	for _, other := range notControllers {
		if strings.HasPrefix(name, other) {
			return ""
		}
	}
	return fmt.Sprintf("%s (%s:%d)", name, filepath.Base(f.File), f.Line)
}
