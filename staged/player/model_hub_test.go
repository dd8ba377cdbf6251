package player_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// A key names an object of an apiServer.
type key struct {
	kind schema.GroupVersionKind
	name types.NamespacedName
}

// A change is one entry of what the watches of a kind show.
type change struct {
	name    types.NamespacedName
	obj     *unstructured.Unstructured
	deleted bool
	inList  bool
}

// An apiServer is an API server as data: stored objects are never changed, so that a backup is a copy of
// the map.
type apiServer struct {
	now     func() time.Time
	objects map[key]*unstructured.Unstructured
	version int
	changes map[schema.GroupVersionKind][]change
}

func newAPIServer(now func() time.Time) *apiServer {
	return &apiServer{now: now, objects: map[key]*unstructured.Unstructured{}, changes: map[schema.GroupVersionKind][]change{}}
}

// A backup is what an API server held at a moment.
type backup struct {
	objects map[key]*unstructured.Unstructured
	version int
}

func (s *apiServer) backup() backup { return backup{maps.Clone(s.objects), s.version} }

// restore goes back to a backup. Without a bump, resourceVersions are given out twice.
func (s *apiServer) restore(b backup, bump bool) {
	old := s.objects
	s.objects = maps.Clone(b.objects)
	if s.version = b.version; bump {
		s.version += 100_000
	}
	for k, obj := range old {
		if s.objects[k] == nil {
			s.note(k, change{name: k.name, obj: obj, deleted: true})
		}
	}
	for _, k := range s.sorted() {
		s.note(k, change{name: k.name, obj: s.objects[k], inList: true})
	}
}

func (s *apiServer) sorted() []key {
	return slices.SortedFunc(maps.Keys(s.objects), func(a, b key) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}

func (s *apiServer) note(k key, c change) { s.changes[k.kind] = append(s.changes[k.kind], c) }

func keyOf(obj *unstructured.Unstructured) key {
	return key{obj.GroupVersionKind(), types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}}
}

// list returns the objects of a kind, sorted.
func (s *apiServer) list(kind schema.GroupVersionKind) (all []*unstructured.Unstructured) {
	for k, obj := range s.objects {
		if k.kind == kind {
			all = append(all, obj)
		}
	}
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int {
		return strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
	})
	return all
}

func (s *apiServer) get(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	return s.objects[key{kind, types.NamespacedName{Namespace: namespace, Name: name}}]
}

func refusal(k key, why func(schema.GroupResource, string) *apierrors.StatusError) error {
	return why(schema.GroupResource{Group: k.kind.Group, Resource: k.kind.Kind}, k.name.String())
}

func conflict(r schema.GroupResource, name string) *apierrors.StatusError {
	return apierrors.NewConflict(r, name, errors.New("it has changed"))
}

// put stores an object, new or changed. Subresource "" counts the spec, "status" does not.
func (s *apiServer) put(obj *unstructured.Unstructured, subresource string) *unstructured.Unstructured {
	k := keyOf(obj)
	old := s.objects[k]
	stored := &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
	metadata, _ := obj.Object["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	stored.Object["metadata"] = metadata
	s.version++
	at := s.now().UTC().Truncate(time.Second).Format(time.RFC3339)
	switch {
	case old == nil:
		metadata["uid"], metadata["generation"], metadata["creationTimestamp"] = fmt.Sprintf("%s-%d", strings.ToLower(k.kind.Kind), s.version), int64(1), at
	case subresource == "" && !reflect.DeepEqual(old.Object["spec"], obj.Object["spec"]):
		metadata["generation"] = old.GetGeneration() + 1
	}
	metadata["resourceVersion"] = strconv.Itoa(s.version)
	fields := []any{map[string]any{"manager": "m" + subresource, "operation": "Update", "subresource": subresource, "time": at}}
	if had, _ := metadata["managedFields"].([]any); had != nil {
		for _, f := range had {
			if f.(map[string]any)["subresource"] != subresource {
				fields = append(fields, f)
			}
		}
	}
	metadata["managedFields"] = fields
	s.objects[k] = stored
	s.note(k, change{name: k.name, obj: stored})
	return stored
}

// setStatus writes a status, if it differs. It reports whether it did.
func (s *apiServer) setStatus(obj *unstructured.Unstructured, status map[string]any) bool {
	if reflect.DeepEqual(obj.Object["status"], any(status)) {
		return false
	}
	next := &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
	next.Object["status"] = status
	s.put(next, "status")
	return true
}

// setSpec creates an object, or gives it another spec.
func (s *apiServer) setSpec(obj *unstructured.Unstructured) *unstructured.Unstructured {
	old := s.objects[keyOf(obj)]
	switch {
	case old == nil:
		return s.put(obj, "")
	case reflect.DeepEqual(old.Object["spec"], obj.Object["spec"]):
		return old
	}
	next := &unstructured.Unstructured{Object: maps.Clone(old.Object)}
	next.Object["spec"] = obj.Object["spec"]
	return s.put(next, "")
}

// remove removes an object at once.
func (s *apiServer) remove(obj *unstructured.Unstructured) {
	k := keyOf(obj)
	s.version++
	delete(s.objects, k)
	s.note(k, change{name: k.name, obj: obj, deleted: true})
}

// terminate begins the deletion of an object, which somebody else ends.
func (s *apiServer) terminate(obj *unstructured.Unstructured) {
	next := obj.DeepCopy()
	next.Object["metadata"].(map[string]any)["deletionTimestamp"] = s.now().UTC().Format(time.RFC3339)
	s.put(next, "status")
}

// A client is an apiServer as one player reaches it: what the model does before a write, and whether the
// write is refused or its answer lost.
type client struct {
	*apiServer
	before func(verb string, k key) fate
	after  func(verb string, k key, old, stored *unstructured.Unstructured)
}

// A fate is what happens to a write.
type fate int

const (
	carriedOut fate = iota
	refused
	answerLost
)

var errBroken = errors.New("the connection broke")

var _ transport.Transport = client{}

// write carries out a write, if the model lets it.
func (c client) write(verb string, k key, do func(old *unstructured.Unstructured) (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	f := c.before(verb, k)
	if f == refused {
		return nil, errBroken
	}
	old := c.objects[k]
	stored, err := do(old)
	if err != nil {
		return nil, err
	}
	c.after(verb, k, old, stored)
	if f == answerLost {
		return nil, errBroken
	}
	return stored, nil
}

func (c client) Create(_ context.Context, obj *unstructured.Unstructured, _ metav1.CreateOptions) (*unstructured.Unstructured, error) {
	k := keyOf(obj)
	return c.write("create", k, func(old *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if old != nil {
			return nil, refusal(k, apierrors.NewAlreadyExists)
		}
		return c.put(&unstructured.Unstructured{Object: asJSON(obj.Object)}, ""), nil
	})
}

// asJSON returns fields as JSON has them.
func asJSON(fields any) (out map[string]any) {
	data, err := json.Marshal(fields)
	if err == nil {
		err = (&unstructured.Unstructured{}).UnmarshalJSON(data)
	}
	if err != nil && !strings.Contains(err.Error(), "Kind") {
		panic(err)
	}
	u := &unstructured.Unstructured{}
	_ = u.UnmarshalJSON(data)
	return u.Object
}

func (c client) Patch(_ context.Context, kind schema.GroupVersionKind, name types.NamespacedName, how types.PatchType, data []byte, _ metav1.PatchOptions, subresource ...string) (*unstructured.Unstructured, error) {
	k := key{kind, name}
	sub := strings.Join(subresource, "")
	return c.write("patch"+sub, k, func(old *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if old == nil {
			return nil, refusal(k, apierrors.NewNotFound)
		}
		patch, err := decodeNumbers(data)
		if err != nil || how != types.MergePatchType {
			return nil, fmt.Errorf("patch %s: %w", data, err)
		}
		metadata, _ := patch["metadata"].(map[string]any)
		if v, has := metadata["resourceVersion"]; has && v != old.GetResourceVersion() {
			return nil, refusal(k, conflict)
		}
		if uid, has := metadata["uid"]; has && uid != string(old.GetUID()) {
			return nil, refusal(k, conflict)
		}
		if sub == "status" {
			patch = map[string]any{"status": patch["status"]}
		}
		merged := merge(old.Object, patch).(map[string]any)
		if reflect.DeepEqual(merged, old.Object) {
			return old, nil
		}
		return c.put(&unstructured.Unstructured{Object: merged}, sub), nil
	})
}

// decodeNumbers decodes JSON with int64 where a number is whole.
func decodeNumbers(data []byte) (map[string]any, error) {
	var wrapped unstructured.Unstructured
	err := wrapped.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"Patch","patch":` + string(data) + `}`))
	patch, _ := wrapped.Object["patch"].(map[string]any)
	return patch, err
}

// merge is a JSON merge patch that changes neither of its arguments.
func merge(old, patch any) any {
	p, is := patch.(map[string]any)
	if !is {
		return patch
	}
	o, _ := old.(map[string]any)
	out := maps.Clone(o)
	if out == nil {
		out = map[string]any{}
	}
	for name, value := range p {
		if value == nil {
			delete(out, name)
		} else {
			out[name] = merge(out[name], value)
		}
	}
	return out
}

func (c client) Delete(_ context.Context, kind schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error {
	k := key{kind, name}
	_, err := c.write("delete", k, func(old *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if old == nil {
			return nil, refusal(k, apierrors.NewNotFound)
		}
		if p := o.Preconditions; p != nil && (p.UID != nil && *p.UID != old.GetUID() || p.ResourceVersion != nil && *p.ResourceVersion != old.GetResourceVersion()) {
			return nil, refusal(k, conflict)
		}
		if old.GetDeletionTimestamp() == nil {
			c.terminate(old)
		}
		return nil, nil
	})
	return err
}

func (c client) Update(_ context.Context, obj *unstructured.Unstructured, _ metav1.UpdateOptions, subresource ...string) (*unstructured.Unstructured, error) {
	k := keyOf(obj)
	return c.write("update", k, func(old *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		switch {
		case old == nil:
			return nil, refusal(k, apierrors.NewNotFound)
		case obj.GetResourceVersion() != "" && obj.GetResourceVersion() != old.GetResourceVersion():
			return nil, refusal(k, conflict)
		}
		return c.put(&unstructured.Unstructured{Object: asJSON(obj.Object)}, strings.Join(subresource, "")), nil
	})
}

func (c client) Get(_ context.Context, kind schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	if obj := c.objects[key{kind, name}]; obj != nil {
		return obj, nil
	}
	return nil, refusal(key{kind, name}, apierrors.NewNotFound)
}

func (c client) List(_ context.Context, kind schema.GroupVersionKind, namespace string, _ metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	list := &unstructured.UnstructuredList{}
	for _, obj := range c.list(kind) {
		if namespace == "" || obj.GetNamespace() == namespace {
			list.Items = append(list.Items, *obj)
		}
	}
	return list, nil
}

func (c client) Watch(context.Context, schema.GroupVersionKind, string, metav1.ListOptions) (watch.Interface, error) {
	return nil, errors.New("the model shows what a watch would")
}
