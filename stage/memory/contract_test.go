package memory_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// The contract is what every API server does. It needs no more of one than these
// methods, so that the same table can run against a real one.
type (
	reader interface {
		Get(context.Context, schema.GroupVersionKind, types.NamespacedName) (*unstructured.Unstructured, error)
	}
	writer interface {
		Create(context.Context, *unstructured.Unstructured, metav1.CreateOptions) (*unstructured.Unstructured, error)
		Update(context.Context, *unstructured.Unstructured, metav1.UpdateOptions, ...string) (*unstructured.Unstructured, error)
		Patch(context.Context, schema.GroupVersionKind, types.NamespacedName, types.PatchType, []byte, metav1.PatchOptions, ...string) (*unstructured.Unstructured, error)
	}
	deleter interface {
		Delete(context.Context, schema.GroupVersionKind, types.NamespacedName, metav1.DeleteOptions) error
	}
	apiServer interface {
		reader
		writer
		deleter
	}
)

func TestContract(t *testing.T) {
	for _, c := range contract {
		t.Run(c.name, func(t *testing.T) {
			server := memory.New(memory.Options{})
			require.NoError(t, server.Load(t.Context(), []byte(definition)))
			runContract(t, server, c)
		})
	}
}

// scenario is a story about one object. Its first step is about the object as given;
// "$version" in a body stands for the resourceVersion before the step.
type scenario struct {
	name   string
	object string
	steps  []step
}

// step is one call and what is true after it.
type step struct {
	verb   string // create update delete merge strategic json apply get
	sub    string // subresource
	body   string // YAML; of create: in place of the object
	grace  *int64
	force  bool
	as     string // field manager
	reason metav1.StatusReason
	want   string // YAML of path: value; null: absent
	moved  string // "yes" or "no": whether resourceVersion changed
}

const (
	deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}, spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: a1}]}}}}"
	pod        = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, spec: {nodeName: n1, containers: [{name: a, image: a1}, {name: b, image: b1}]}}"
	unbound    = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, spec: {containers: [{name: a, image: a1}]}}"
	configMap  = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default}, data: {a: '1'}}"
	node       = "{apiVersion: v1, kind: Node, metadata: {name: n1}}"
	widget     = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: default}, spec: {size: 1}, status: {phase: Old}}"
	plain      = "{apiVersion: example.com/v1, kind: Plain, metadata: {name: w}, spec: {size: 1}, status: {phase: Old}}"
	definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: plains.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: plains, kind: Plain}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`
)

var contract = []scenario{
	{"a new object gets its system fields", deployment, []step{
		{verb: "create", want: "{metadata.generation: 1, status: null, spec.replicas: 1}"},
		{verb: "create", reason: metav1.StatusReasonAlreadyExists},
		{verb: "get", moved: "no"},
	}},
	{"a create with a resourceVersion is refused", configMap, []step{
		{verb: "create", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default, resourceVersion: '1'}}", reason: metav1.StatusReasonBadRequest},
	}},
	{"a bad name is invalid", configMap, []step{
		{verb: "create", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: C_1, namespace: default}}", reason: metav1.StatusReasonInvalid},
	}},
	{"an unknown kind is not found", configMap, []step{
		{verb: "create", body: "{apiVersion: example.com/v1, kind: Nothing, metadata: {name: c, namespace: default}}", reason: metav1.StatusReasonNotFound},
	}},
	{"what is not there is not found", configMap, []step{
		{verb: "get", reason: metav1.StatusReasonNotFound},
		{verb: "merge", body: "{data: {a: '2'}}", reason: metav1.StatusReasonNotFound},
		{verb: "update", reason: metav1.StatusReasonNotFound},
		{verb: "delete", reason: metav1.StatusReasonNotFound},
	}},
	{"the generation counts changes of the spec only", deployment, []step{
		{verb: "create"},
		{verb: "merge", body: "{metadata: {labels: {a: b}}}", want: "{metadata.generation: 1}", moved: "yes"},
		{verb: "merge", body: "{spec: {replicas: 2}}", want: "{metadata.generation: 2}", moved: "yes"},
		{verb: "merge", sub: "status", body: "{status: {replicas: 2}}", want: "{metadata.generation: 2, status.replicas: 2}", moved: "yes"},
		{verb: "merge", body: "{metadata: {annotations: {a: b}}}", want: "{metadata.generation: 3}", moved: "yes"},
		{verb: "merge", body: "{metadata: {generation: 9}}", want: "{metadata.generation: 3}", moved: "no"},
	}},
	{"a write that changes nothing keeps the version", configMap, []step{
		{verb: "create"},
		{verb: "merge", body: "{data: {a: '1'}}", moved: "no"},
		{verb: "json", body: "[{op: replace, path: /data/a, value: '1'}]", moved: "no"},
		{verb: "strategic", body: "{data: {b: null}}", moved: "no"},
		{verb: "update", moved: "no"},
	}},
	{"status and spec are written apart", deployment, []step{
		{verb: "create"},
		{verb: "merge", body: "{status: {replicas: 1}}", want: "{status: null}", moved: "no"},
		{verb: "merge", sub: "status", body: "{spec: {replicas: 7}, status: {replicas: 1}}", want: "{status.replicas: 1, spec.replicas: 1}", moved: "yes"},
		{verb: "update", want: "{status.replicas: 1}", moved: "no"},
	}},
	{"a status write to a built-in kind may annotate", node, []step{
		{verb: "create"},
		{verb: "merge", sub: "status", body: "{metadata: {annotations: {a: b}, labels: {l: m}}}", want: "{metadata.annotations.a: b, metadata.labels.l: m}"},
	}},
	{"a status write to a custom kind changes no metadata", widget, []step{
		{verb: "create", want: "{status: null, metadata.generation: 1}"},
		{verb: "merge", sub: "status", body: "{metadata: {annotations: {a: b}}, spec: {size: 2}, status: {phase: New}}", want: "{metadata.annotations: null, spec.size: 1, status.phase: New, metadata.generation: 1}"},
		{verb: "merge", body: "{spec: {size: 2}, status: {phase: Old}}", want: "{spec.size: 2, status.phase: New, metadata.generation: 2}"},
	}},
	{"without the subresource status is a field like others", plain, []step{
		{verb: "create", want: "{status.phase: Old, metadata.generation: 1}"},
		{verb: "merge", body: "{status: {phase: New}}", want: "{status.phase: New, metadata.generation: 2}"},
		{verb: "merge", sub: "status", body: "{status: {phase: New}}", reason: metav1.StatusReasonNotFound},
	}},
	{"a stale version is a conflict in every way of writing", configMap, []step{
		{verb: "create"},
		{verb: "merge", body: "{metadata: {resourceVersion: $version}, data: {a: '2'}}", want: "{data.a: '2'}"},
		{verb: "merge", body: "{metadata: {resourceVersion: '1'}, data: {a: '3'}}", reason: metav1.StatusReasonConflict},
		{verb: "strategic", body: "{metadata: {resourceVersion: '1'}, data: {a: '3'}}", reason: metav1.StatusReasonConflict},
		{verb: "json", body: "[{op: replace, path: /metadata/resourceVersion, value: '1'}, {op: replace, path: /data/a, value: '3'}]", reason: metav1.StatusReasonConflict},
		{verb: "update", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default, resourceVersion: '1'}}", reason: metav1.StatusReasonConflict},
		{verb: "get", want: "{data.a: '2'}", moved: "no"},
	}},
	{"the uid cannot change", configMap, []step{
		{verb: "create"},
		{verb: "merge", body: "{metadata: {uid: other}}", reason: metav1.StatusReasonInvalid},
		{verb: "update", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default, uid: other}}", reason: metav1.StatusReasonConflict},
	}},
	{"the name cannot change", configMap, []step{
		{verb: "create"},
		{verb: "merge", body: "{metadata: {name: d}}", reason: metav1.StatusReasonBadRequest},
	}},
	{"an update without version replaces a built-in object", configMap, []step{
		{verb: "create"},
		{verb: "update", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default}, data: {b: '2'}}", want: "{data.a: null, data.b: '2'}"},
	}},
	{"an update of a custom object needs a version", widget, []step{
		{verb: "create"},
		{verb: "update", body: widget, reason: metav1.StatusReasonInvalid},
	}},
	{"strategic merge knows the merge keys", pod, []step{
		{verb: "create"},
		{verb: "strategic", body: "{spec: {containers: [{name: b, image: b2}]}}", want: "{spec.containers: [{name: a, image: a1}, {name: b, image: b2}]}"},
		{verb: "strategic", sub: "status", body: "{status: {conditions: [{type: Ready, status: 'False'}]}}", want: "{status.conditions: [{type: Ready, status: 'False'}]}"},
		{verb: "strategic", sub: "status", body: "{status: {conditions: [{type: Ready, status: 'True'}]}}", want: "{status.conditions: [{type: Ready, status: 'True'}]}"},
	}},
	{"strategic merge is not for custom kinds", widget, []step{
		{verb: "create"},
		{verb: "strategic", body: "{spec: {size: 2}}", reason: metav1.StatusReasonUnsupportedMediaType},
	}},
	{"a JSON patch that does not apply changes nothing", configMap, []step{
		{verb: "create"},
		{verb: "json", body: "[{op: replace, path: /data/a, value: '2'}, {op: test, path: /data/a, value: x}]", reason: metav1.StatusReasonInvalid},
		{verb: "get", want: "{data.a: '1'}", moved: "no"},
	}},
	{"an object without finalizers goes at once", configMap, []step{
		{verb: "create"},
		{verb: "delete"},
		{verb: "get", reason: metav1.StatusReasonNotFound},
	}},
	{"finalizers hold an object until the last is removed", deployment, []step{
		{verb: "create"},
		{verb: "merge", body: "{metadata: {finalizers: [example.com/a, example.com/b]}}"},
		{verb: "delete", want: "{metadata.generation: 2, metadata.deletionGracePeriodSeconds: 0}", moved: "yes"},
		{verb: "delete", moved: "no"},
		{verb: "merge", body: "{metadata: {finalizers: [example.com/a, example.com/b, example.com/c]}}", reason: metav1.StatusReasonInvalid},
		{verb: "merge", body: "{metadata: {finalizers: [example.com/b]}}", want: "{metadata.finalizers: [example.com/b]}"},
		{verb: "json", body: "[{op: remove, path: /metadata/finalizers}]"},
		{verb: "get", reason: metav1.StatusReasonNotFound},
	}},
	{"a bound pod has a grace period", pod, []step{
		{verb: "create", want: "{metadata.generation: 1, status.phase: Pending}"},
		{verb: "delete", want: "{metadata.deletionGracePeriodSeconds: 30, metadata.generation: 2}"},
		{verb: "delete", grace: new(int64(60)), want: "{metadata.deletionGracePeriodSeconds: 30}", moved: "no"},
		{verb: "delete", grace: new(int64(5)), want: "{metadata.deletionGracePeriodSeconds: 5, metadata.generation: 2}", moved: "yes"},
		{verb: "delete", grace: new(int64(0))},
		{verb: "get", reason: metav1.StatusReasonNotFound},
	}},
	{"a pod with finalizers waits for both", pod, []step{
		{verb: "create"},
		{verb: "merge", body: "{metadata: {finalizers: [example.com/a]}}"},
		{verb: "delete"},
		{verb: "merge", body: "{metadata: {finalizers: null}}", want: "{metadata.deletionGracePeriodSeconds: 30}"},
		{verb: "delete", grace: new(int64(0))},
		{verb: "get", reason: metav1.StatusReasonNotFound},
	}},
	{"a pod that is bound to no node goes at once", unbound, []step{
		{verb: "create"}, {verb: "delete"}, {verb: "get", reason: metav1.StatusReasonNotFound},
	}},
	{"a pod that has ended goes at once", pod, []step{
		{verb: "create"},
		{verb: "merge", sub: "status", body: "{status: {phase: Succeeded}}"},
		{verb: "delete"},
		{verb: "get", reason: metav1.StatusReasonNotFound},
	}},
	{"apply creates and removes what it no longer names", configMap, []step{
		{verb: "apply", as: "one", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '1', b: '2'}}", want: "{data.a: '1', data.b: '2'}"},
		{verb: "apply", as: "one", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '1', b: '2'}}", moved: "no"},
		{verb: "apply", as: "one", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '1'}}", want: "{data.a: '1', data.b: null}"},
		{verb: "merge", as: "two", body: "{data: {c: '3'}}"},
		{verb: "apply", as: "one", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {}}", want: "{data.a: null, data.c: '3'}"},
	}},
	{"apply conflicts with other managers unless forced", configMap, []step{
		{verb: "apply", as: "one", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '1'}}"},
		{verb: "apply", as: "two", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '2'}}", reason: metav1.StatusReasonConflict},
		{verb: "apply", as: "two", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '1'}}", want: "{data.a: '1'}"},
		{verb: "apply", as: "two", force: true, body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '2'}}", want: "{data.a: '2'}"},
		{verb: "apply", as: "one", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {b: '3'}}", want: "{data.a: '2', data.b: '3'}"},
	}},
	{"apply merges lists by key", pod, []step{
		{verb: "create", as: "creator"},
		{verb: "apply", as: "one", body: "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: c1}]}}", force: true},
		{verb: "apply", as: "one", body: "{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {x: z}}}", want: "{spec.containers: [{name: a, image: a1}, {name: b, image: b1}], metadata.labels.x: z}"},
	}},
	{"apply leaves an element in which another manager has a field", unbound, []step{
		{verb: "apply", as: "one", body: "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, image: a1}, {name: b, image: b1, stdin: true}]}}"},
		{verb: "apply", as: "two", body: "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: b, image: b1}]}}"},
		{verb: "apply", as: "one", body: "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, image: a1}]}}", want: "{spec.containers: [{name: a, image: a1}, {name: b, image: b1}]}"},
		{verb: "apply", as: "two", body: "{apiVersion: v1, kind: Pod, metadata: {name: p}}", want: "{spec.containers: [{name: a, image: a1}]}"},
	}},
	{"apply to the status leaves the rest alone", node, []step{
		{verb: "create"},
		{verb: "apply", sub: "status", as: "kubelet", body: "{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {unschedulable: true}, status: {conditions: [{type: Ready, status: 'True'}]}}", want: "{spec: null, status.conditions: [{type: Ready, status: 'True'}]}"},
		{verb: "apply", sub: "status", as: "kubelet", body: "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {phase: Ready}}", want: "{status.conditions: null, status.phase: Ready}"},
	}},
	{"apply of a stale version is a conflict", configMap, []step{
		{verb: "create"},
		{verb: "apply", as: "one", force: true, body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, resourceVersion: '1'}, data: {a: '2'}}", reason: metav1.StatusReasonConflict},
	}},
	{"labels and finalizers must be text", configMap, []step{
		{verb: "create", body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default, labels: {a: 1}}}", reason: metav1.StatusReasonBadRequest},
		{verb: "create"},
		{verb: "merge", body: "{metadata: {finalizers: [1]}}", reason: metav1.StatusReasonBadRequest},
		{verb: "merge", body: "{metadata: 1}", reason: metav1.StatusReasonBadRequest},
		{verb: "get", moved: "no"},
	}},
	{"the kind of an object cannot change", configMap, []step{
		{verb: "create"},
		{verb: "merge", body: "{kind: Secret}", reason: metav1.StatusReasonBadRequest},
	}},
	{"a body of the wrong shape is refused", configMap, []step{
		{verb: "create"},
		{verb: "merge", body: "[1]", reason: metav1.StatusReasonBadRequest},
		{verb: "strategic", body: "[1]", reason: metav1.StatusReasonBadRequest},
		{verb: "json", body: "{a: 1}", reason: metav1.StatusReasonBadRequest},
		{verb: "get", moved: "no"},
	}},
	{"apply needs a manager", configMap, []step{
		{verb: "apply", body: configMap, reason: metav1.StatusReasonInvalid},
	}},
}

func runContract(t *testing.T, server apiServer, c scenario) {
	given := parse(t, c.object)
	gvk, name := given.GroupVersionKind(), types.NamespacedName{Namespace: given.GetNamespace(), Name: given.GetName()}
	for i, s := range c.steps {
		at := fmt.Sprintf("step %d: %s", i+1, s.verb)
		before, _ := server.Get(t.Context(), gvk, name)
		err := s.do(t, server, given, before)
		if s.reason != "" {
			require.Equal(t, s.reason, apierrors.ReasonForError(err), "%s: %v", at, err)
			continue
		}
		require.NoError(t, err, at)
		after, _ := server.Get(t.Context(), gvk, name)
		s.check(t, at, before, after)
	}
}

func (s step) do(t *testing.T, server apiServer, given, before *unstructured.Unstructured) (err error) {
	gvk, name := given.GroupVersionKind(), types.NamespacedName{Namespace: given.GetNamespace(), Name: given.GetName()}
	switch s.verb {
	case "get":
		_, err = server.Get(t.Context(), gvk, name)
	case "create":
		_, err = server.Create(t.Context(), s.subject(t, given), metav1.CreateOptions{FieldManager: s.as})
	case "update":
		obj := given
		if before != nil {
			obj = before
		}
		_, err = server.Update(t.Context(), s.subject(t, obj), metav1.UpdateOptions{FieldManager: s.as}, subresources(s.sub)...)
	case "delete":
		err = server.Delete(t.Context(), gvk, name, metav1.DeleteOptions{GracePeriodSeconds: s.grace})
	default:
		_, err = server.Patch(t.Context(), gvk, name, patchTypes[s.verb], s.data(t, before), s.options(), subresources(s.sub)...)
	}
	return err
}

var patchTypes = map[string]types.PatchType{
	"merge": types.MergePatchType, "strategic": types.StrategicMergePatchType, "json": types.JSONPatchType, "apply": types.ApplyPatchType,
}

func (s step) options() metav1.PatchOptions {
	o := metav1.PatchOptions{FieldManager: s.as}
	if s.force {
		o.Force = &s.force
	}
	return o
}

func (s step) subject(t *testing.T, obj *unstructured.Unstructured) *unstructured.Unstructured {
	if s.body == "" {
		return obj
	}
	return parse(t, s.body)
}

func (s step) data(t *testing.T, before *unstructured.Unstructured) []byte {
	body := s.body
	if before != nil {
		body = strings.ReplaceAll(body, "$version", "'"+before.GetResourceVersion()+"'")
	}
	data, err := yaml.YAMLToJSON([]byte(body))
	require.NoError(t, err)
	return data
}

func (s step) check(t *testing.T, at string, before, after *unstructured.Unstructured) {
	if s.moved != "" {
		require.Equal(t, s.moved == "yes", before.GetResourceVersion() != after.GetResourceVersion(), "%s: whether the version moved", at)
	}
	if s.want == "" {
		return
	}
	for path, want := range parse(t, s.want).Object {
		got, _, _ := unstructured.NestedFieldNoCopy(after.Object, strings.Split(path, ".")...)
		require.Equal(t, want, got, "%s: %s", at, path)
	}
}

func subresources(sub string) []string {
	if sub == "" {
		return nil
	}
	return []string{sub}
}

// parse reads an object with integers as int64.
func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	var m map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &m))
	return &unstructured.Unstructured{Object: integers(m).(map[string]any)}
}

func integers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			v[key] = integers(e)
		}
	case []any:
		for i, e := range v {
			v[i] = integers(e)
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}
