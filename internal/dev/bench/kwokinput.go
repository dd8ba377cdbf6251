package bench

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

// A kwokInput is an object as a controller of kwok passes it to kwok's lifecycle.
type kwokInput struct {
	name  string
	event func() *lifecycle.Event // called for each decision, because an Event caches values derived from the object
	data  any                     // for templates
	// finalizers of the object.
	finalizers []string
}

// untypedInput is the object as a map, as kwok's controllers for other kinds pass it.
func untypedInput(obj *unstructured.Unstructured) (kwokInput, bool) {
	return kwokInput{"kwok", func() *lifecycle.Event { return EventOf(obj) }, obj.Object, obj.GetFinalizers()}, true
}

// typedInput is the object as a Go type. It is false for kinds without a controller of their own in
// kwok.
func typedInput(obj *unstructured.Unstructured) (kwokInput, bool) {
	var typed interface {
		runtime.Object
		GetLabels() map[string]string
		GetAnnotations() map[string]string
	}
	switch obj.GroupVersionKind() {
	case schema.GroupVersionKind{Version: "v1", Kind: "Pod"}:
		typed = &corev1.Pod{}
	case schema.GroupVersionKind{Version: "v1", Kind: "Node"}:
		typed = &corev1.Node{}
	default:
		return kwokInput{}, false
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, typed); err != nil {
		return kwokInput{}, false
	}
	event := func() *lifecycle.Event {
		return &lifecycle.Event{Labels: typed.GetLabels(), Annotations: typed.GetAnnotations(), Data: typed}
	}
	return kwokInput{"kwok-typed", event, typed, obj.GetFinalizers()}, true
}

func (v kwokInput) side(k *Kwok, lc lifecycle.Lifecycle) Side {
	return Side{
		Name: v.name,
		Match: func() (int, error) {
			st, err := v.match(lc)
			if st == nil {
				return 0, err
			}
			return 1, err
		},
		Whole: func() (int, error) {
			st, err := v.match(lc)
			if st == nil || err != nil {
				return 0, err
			}
			return k.send(st, v)
		},
	}
}

func (v kwokInput) match(lc lifecycle.Lifecycle) (*lifecycle.Stage, error) {
	event := v.event()
	st, err := lc.Match(context.Background(), event)
	if st == nil || err != nil {
		return nil, err
	}
	_, _, err = st.Delay(context.Background(), event, Now)
	return st, err
}

// send renders the effects and returns the number of bytes to send.
func (k *Kwok) send(st *lifecycle.Stage, v kwokInput) (int, error) {
	size := 0
	_, err := st.DoSteps(0, v.finalizers, v.data, k.Renderer,
		func(*internalversion.StageEvent) error { return nil },
		func() error { return nil },
		func(p *lifecycle.Patch) error { size += len(p.Data); return nil },
		func(a *lifecycle.Apply) error { size += len(a.Data); return nil },
	)
	return size, err
}
