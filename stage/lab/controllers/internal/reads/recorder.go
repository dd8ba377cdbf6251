package reads

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
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
	held map[string]any // so that no other map gets its address
}

// A recorder notes which fields were read: by kind and path, with the function of a controller that read
// it, or "".
type recorder struct {
	mu      sync.Mutex
	places  map[uintptr]place
	objects map[kind]int // how many were seen first
	seen    map[kind]map[string]string
}

func newRecorder() *recorder {
	return &recorder{places: map[uintptr]place{}, objects: map[kind]int{}, seen: map[kind]map[string]string{}}
}

// of returns the reads of a kind.
func (r *recorder) of(k features.Kind) map[string]string {
	apiVersion, name := schema.GroupVersionKind(k.GroupVersionKind).ToAPIVersionAndKind()
	return r.seen[kind{apiVersion, name}]
}

// The recorder knows the maps of the first allOf objects of each kind, and then those of one in
// oneOf, because this takes most of the time. It always knows reads with a path from the root.
const (
	allOf = 2_000
	oneOf = 20
)

// mostPlaces bounds the memory of the recorder. The recorder finds maps again when their object is
// read next.
const mostPlaces = 200_000

// read notes the read of a path below a map.
func (r *recorder) read(m map[string]any, path []string) {
	if len(m) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.placeOf(m)
	if !ok {
		return
	}
	field := strings.TrimPrefix(at.path+"."+strings.Join(path, "."), ".")
	if at.held != nil {
		r.addNew(at.kind, field, valueAt(m, path))
	}
	switch root, _, _ := strings.Cut(field, "."); root {
	case "", "metadata", "kind", "apiVersion":
		return
	}
	fields := r.seen[at.kind]
	if fields == nil {
		fields = map[string]string{}
		r.seen[at.kind] = fields
	}
	if by, known := fields[field]; !known || by == "" {
		fields[field] = reader()
	}
}

// placeOf finds a map in the objects so far, or as an object.
func (r *recorder) placeOf(m map[string]any) (place, bool) {
	if at, ok := r.places[address(m)]; ok {
		return at, true
	}
	apiVersion, _ := m["apiVersion"].(string)
	name, _ := m["kind"].(string)
	if _, isObject := m["metadata"].(map[string]any); !isObject || apiVersion == "" || name == "" {
		return place{}, false // a reference to an object has no metadata
	}
	if len(r.places) > mostPlaces {
		clear(r.places)
	}
	k := kind{apiVersion, name}
	if r.objects[k]++; r.objects[k] <= allOf || r.objects[k]%oneOf == 0 {
		r.add(k, "", m)
		return r.places[address(m)], true
	}
	return place{kind: k}, true
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
func (r *recorder) addNew(k kind, path string, v any) {
	m, _ := v.(map[string]any)
	if list, ok := v.([]any); ok && len(list) > 0 {
		m, _ = list[0].(map[string]any)
	}
	if _, known := r.places[address(m)]; !known && len(m) > 0 {
		r.add(k, path, v)
	}
}

func address(m map[string]any) uintptr { return reflect.ValueOf(m).Pointer() }

// add notes where a value and all below it are.
func (r *recorder) add(k kind, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		r.places[address(v)] = place{k, path, v}
		for key, below := range v {
			r.add(k, strings.TrimPrefix(path+"."+key, "."), below)
		}
	case []any:
		for _, below := range v {
			r.add(k, path+"[]", below)
		}
	}
}

// reader returns the controller function that reads, and the place; "" outside controllers.
func reader() string {
	var pcs [12]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
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
