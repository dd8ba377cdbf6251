package rehearse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
)

var definitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// A catalog holds the plural names of the kinds that a CustomResourceDefinition defines. The plural
// names of other kinds are guessed from the kind.
type catalog map[schema.GroupKind]string

var vowelY = regexp.MustCompile("[aeiou]y$")

func (c catalog) define(crd *unstructured.Unstructured) {
	group, _ := object.String(crd.Object, "spec", "group")
	kind, _ := object.String(crd.Object, "spec", "names", "kind")
	c[schema.GroupKind{Group: group, Kind: kind}], _ = object.String(crd.Object, "spec", "names", "plural")
}

func (c catalog) resource(kind schema.GroupVersionKind) string {
	if plural, ok := c[kind.GroupKind()]; ok {
		return plural
	}
	if singular := strings.ToLower(kind.Kind); vowelY.MatchString(singular) {
		return singular + "s" // gateways, which the guess would call gatewaies
	}
	guess, _ := meta.UnsafeGuessKindToResource(kind)
	return guess.Resource
}

func (c catalog) refOf(obj *unstructured.Unstructured) fleet.ObjectRef {
	kind := obj.GroupVersionKind()
	return fleet.ObjectRef{Group: kind.Group, Resource: c.resource(kind), Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// A workload is the objects of an Input, as an API server stores them, and the definitions and
// kinds that a cluster must know to accept them.
type workload struct {
	objects     map[fleet.ObjectRef]*unstructured.Unstructured
	definitions []*unstructured.Unstructured
	kinds       []memory.Kind // the kinds without a definition
}

// newWorkload stores the objects: definitions first, because other objects may be of their kinds.
func newWorkload(in *Input) (workload, Errors) {
	w := workload{objects: map[fleet.ObjectRef]*unstructured.Unstructured{}}
	copies, errs := make([]*unstructured.Unstructured, len(in.Objects)), make([]error, len(in.Objects))
	for i, obj := range in.Objects {
		copies[i], errs[i] = copyOf(obj)
	}
	w.findKinds(copies)
	store := memory.New(memory.Options{Seed: in.Seed, Now: func() time.Time { return in.Start }, Kinds: w.kinds})
	known := catalog{}
	for _, definitions := range []bool{true, false} {
		for i, obj := range copies {
			if obj == nil || isDefinition(obj) != definitions {
				continue
			}
			stored, err := create(store, obj)
			if errs[i] = err; err != nil {
				continue
			}
			if definitions {
				known.define(stored)
			}
			w.objects[known.refOf(stored)] = stored
		}
	}
	var faults Errors
	for i, err := range errs {
		if err != nil {
			faults.add(fmt.Sprintf("Input.Objects[%d]", i), err)
		}
	}
	return w, faults
}

func isDefinition(obj *unstructured.Unstructured) bool {
	return obj.GroupVersionKind() == definitionKind
}

// copyOf checks and copies an object of a caller.
func copyOf(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if obj == nil {
		return nil, errors.New("nil")
	}
	fields, err := clone(obj.Object)
	if err != nil {
		return nil, err
	}
	copied := &unstructured.Unstructured{Object: fields}
	switch {
	case copied.GetKind() == "":
		return nil, errors.New("kind: missing")
	case copied.GetAPIVersion() == "":
		return nil, errors.New("apiVersion: missing")
	}
	return copied, nil
}

// clone copies fields. Numbers of any Go type become the types that apimachinery uses.
func clone(fields map[string]any) (out map[string]any, err error) {
	raw, err := json.Marshal(fields)
	if err == nil {
		err = utiljson.Unmarshal(raw, &out)
	}
	return out, err
}

// findKinds finds the definitions, and the kinds without one, which are taken to have a status.
// Kinds that every API server knows are among these; package memory recognizes them.
func (w *workload) findKinds(objects []*unstructured.Unstructured) {
	defined := catalog{}
	for _, obj := range objects {
		if obj != nil && isDefinition(obj) {
			w.definitions = append(w.definitions, obj)
			defined.define(obj)
		}
	}
	for _, obj := range objects {
		if obj == nil {
			continue
		}
		kind := obj.GroupVersionKind()
		if _, ok := defined[kind.GroupKind()]; !ok {
			w.kinds = append(w.kinds, memory.Kind{
				GroupVersionKind: kind, Resource: defined.resource(kind), ClusterScoped: obj.GetNamespace() == "", Status: true,
			})
		}
	}
}

// create stores an object as kubectl apply does: an object that needs a namespace and has none goes
// into "default".
func create(store *memory.Cluster, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	obj = downsynced(obj)
	stored, err := store.Create(context.Background(), obj, metav1.CreateOptions{})
	if apierrors.IsInvalid(err) && obj.GetNamespace() == "" && obj.GetName() != "" {
		obj.SetNamespace("default")
		return store.Create(context.Background(), obj, metav1.CreateOptions{})
	}
	return stored, err
}
