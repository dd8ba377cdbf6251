package simulation

import (
	"context"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/controllers/admission"
	"github.com/stagecraft-go/stagecraft/stage/controllers/features"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var statefulSet = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}

// droppedFields keeps objects with a field that admission drops, which nobody sees afterwards. It is
// filled by those who write, in any goroutine.
type droppedFields struct {
	mu      sync.Mutex
	objects []*unstructured.Unstructured
}

// of returns the admission of a simulation. If features are reported, it keeps what is dropped.
func (d *droppedFields) of(o Options) func(*memory.Review) error {
	admit := o.admission()
	if o.Features == nil {
		return admit
	}
	return func(v *memory.Review) error {
		if v.Kind == statefulSet && v.New != nil {
			d.look(v)
		}
		return admit(v)
	}
}

func (d *droppedFields) look(v *memory.Review) {
	given := &unstructured.Unstructured{Object: maps.Clone(v.New.Object)}
	dropped := *v
	dropped.New = &unstructured.Unstructured{Object: maps.Clone(v.New.Object)}
	if err := admission.DropFields(&dropped); err != nil || len(given.Object) == 0 || !has(given) || has(dropped.New) {
		return
	}
	d.mu.Lock()
	d.objects = append(d.objects, given)
	d.mu.Unlock()
}

// has reports whether a StatefulSet has the field that is dropped.
func has(set *unstructured.Unstructured) bool {
	_, found, _ := unstructured.NestedFieldNoCopy(set.Object, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable")
	return found
}

func (d *droppedFields) take() []*unstructured.Unstructured {
	d.mu.Lock()
	defer d.mu.Unlock()
	taken := d.objects
	d.objects = nil
	return taken
}

// reportFeatures begins to observe what objects ask for.
func (s *Simulation) reportFeatures() error {
	report := s.options.Features
	if report == nil {
		return nil
	}
	if s.options.Trace != nil {
		report.Tell(func(u features.Use) { s.options.Trace(notModelled(s, u)) })
	}
	if err := report.Watch(s.On); err != nil {
		return err
	}
	return s.On(statefulSet, func(context.Context, watch.Event) error {
		for _, set := range s.dropped.take() {
			report.Observe(statefulSet, set, true)
		}
		return nil
	})
}

func notModelled(s *Simulation, u features.Use) stage.TraceEvent {
	key := stage.Key{Group: u.Kind.Group, Version: u.Kind.Version, Kind: u.Kind.Kind, Namespace: u.First.Namespace, Name: u.First.Name}
	field := u.Kind.Kind
	if u.Path != "" {
		field += " " + u.Path
	}
	return stage.TraceEvent{Time: s.Now(), Kind: stage.TraceNotModelled, Key: key, Stage: field + ": " + u.Feature}
}
