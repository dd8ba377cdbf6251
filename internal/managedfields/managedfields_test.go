package managedfields_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/internal/managedfields"
	"github.com/stagecraft-go/stagecraft/internal/object"
)

var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

const podText = `
apiVersion: v1
kind: Pod
metadata:
  {name: a, namespace: b, labels: {app: web, tier: front}, annotations: {}, finalizers: [x, y], ownerReferences: [{apiVersion: v1, kind: Node, name: n, uid: "1"}]}
spec:
  nodeName: node-1
  nodeSelector: {disk: ssd}
  activeDeadlineSeconds: 30
  hostNetwork: true
  containers:
  - {name: web, image: nginx, args: [a, b], ports: [{containerPort: 80}, {containerPort: 80, protocol: UDP}], env: [{name: A, value: b}], resources: {requests: {cpu: 100m}, limits: {}}}
  - {name: side, image: envoy, volumeMounts: [{mountPath: /x, name: v}]}
  tolerations: [{key: a, operator: Exists}]
  volumes: [{name: v, emptyDir: {}}]
  securityContext: {}
status: {phase: Pending, conditions: [{type: Ready, status: "False", lastTransitionTime: null}]}
`

func pod(t *testing.T) map[string]any {
	var obj map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(podText), &obj))
	return object.CopyMap(obj)
}

// changed changes one value somewhere below v at random, by dropping, adding or replacing it.
func changed(r *rand.Rand, v any) any {
	values := []any{nil, "x", "y", int64(1), int64(2), true, map[string]any{}, []any{}, map[string]any{"name": "x"}, []any{map[string]any{"name": "x"}}}
	other := values[r.IntN(len(values))]
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		name := append(names, "new")[r.IntN(len(names)+1)]
		switch r.IntN(8) {
		case 0:
			delete(v, name)
		case 1:
			v[name] = other
		default:
			v[name] = changed(r, v[name])
		}
		return v
	case []any:
		if len(v) > 0 && r.IntN(4) > 0 {
			i := r.IntN(len(v))
			v[i] = changed(r, v[i])
			return v
		}
		return append(v, other)
	}
	return other
}

// TestNewObjectsOfOneShape creates objects, some with the same shape, whose fields are remembered.
// For each object the result must be the same as of an update of an empty object, which compares
// it.
func TestNewObjectsOfOneShape(t *testing.T) {
	definition := map[string]any{"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}
	for name, kind := range map[string]managedfields.Type{
		"built-in": managedfields.BuiltIn(podKind), "unknown": managedfields.BuiltIn(schema.GroupVersionKind{Version: "v1", Kind: "Thing"}), "defined": managedfields.Defined(definition),
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			for range effort.Of(5000) {
				w := managedfields.Writer{Type: kind, APIVersion: "v1", Manager: "me", Time: "2026-01-01T00:00:00Z"}
				if r.IntN(2) == 0 {
					w.Ignored = [][]string{{"status"}}
				}
				obj := pod(t)
				for range r.IntN(4) {
					changed(r, obj)
				}
				want, wantErr := w.Update(map[string]any{}, obj)
				got, err := w.Update(nil, obj)
				require.Equal(t, wantErr == nil, err == nil, "%v %v", wantErr, err)
				require.Equal(t, want, got, obj)
			}
		})
	}
}

// TestUpdatesAskOnlyForWhatDiffers checks that members that are equal before and after an update
// have no effect on the owners.
func TestUpdatesAskOnlyForWhatDiffers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	w := managedfields.Writer{Type: managedfields.BuiltIn(podKind), APIVersion: "v1", Manager: "me", Time: "2026-01-01T00:00:00Z"}
	for range effort.Of(3000) {
		before := pod(t)
		created, err := w.Update(nil, before)
		require.NoError(t, err)
		before["metadata"].(map[string]any)["managedFields"] = created
		next := object.CopyMap(before)
		changed(r, next["spec"])
		other := w
		other.Manager = "other"
		want, wantErr := other.Update(before, next)

		// A member without an owner is added to both.
		before["spec"].(map[string]any)["overhead"], next["spec"].(map[string]any)["overhead"] = map[string]any{"cpu": "1"}, map[string]any{"cpu": "1"}
		got, err := other.Update(before, next)
		require.Equal(t, wantErr == nil, err == nil)
		require.Equal(t, want, got)
	}
}

// BenchmarkUpdate creates Pods of one shape, and compares each with nothing.
func BenchmarkUpdate(b *testing.B) {
	var obj map[string]any
	require.NoError(b, yaml.Unmarshal([]byte(podText), &obj))
	obj = object.CopyMap(obj)
	w := managedfields.Writer{Type: managedfields.BuiltIn(podKind), APIVersion: "v1", Manager: "me", Time: "2026-01-01T00:00:00Z"}
	for name, before := range map[string]map[string]any{"shape is known": nil, "compared": {}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.Update(before, obj); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
