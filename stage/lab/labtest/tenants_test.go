package labtest_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

const claim = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: %s, finalizers: [example.com/hold]},
  spec: {storageClassName: kwok-volume, %saccessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`

const volumesOfOthers = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: kept}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /x}, storageClassName: other,
  persistentVolumeReclaimPolicy: Retain, claimRef: {name: other, namespace: victim, uid: "1"}}
status: {phase: Bound}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: made-by-hand}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /x}, storageClassName: kwok-volume,
  persistentVolumeReclaimPolicy: Delete, claimRef: {name: by-hand, namespace: victim, uid: "2"}}
status: {phase: Bound}
`

// The author of a claim can set spec.volumeName freely. A claim that names the volume of another
// claim, and that a finalizer holds when it is deleted, does nothing to that volume.
func TestAClaimDoesNotReachTheVolumesOfOthers(t *testing.T) {
	lab := labtest.New(t, labtest.Options{OnlyStages: true, Stages: []stage.Source{presets.Volumes()}, OnlyControllers: true})
	lab.Apply(fmt.Sprintf(claim, "data", ""), volumesOfOthers)
	lab.Settle()
	bound := lab.Get("v1", "PersistentVolumeClaim", "data")
	own := "pvc-" + string(bound.GetUID())
	require.Equal(t, own, text(bound, "spec", "volumeName"))
	for _, target := range []string{own, "kept", "made-by-hand"} {
		before := lab.Get("v1", "PersistentVolume", target).Object
		lab.Apply(fmt.Sprintf(claim, "attacker-of-"+target, "volumeName: "+target+", "))
		lab.Settle()
		lab.Delete(lab.Get("v1", "PersistentVolumeClaim", "attacker-of-"+target))
		lab.Settle()
		require.Equal(t, before, lab.Get("v1", "PersistentVolume", target).Object, target)
	}
}

// A released volume of the class that was not made for its claim by these Stages is not theirs to
// delete.
func TestOnlyVolumesOfThePresetAreDeleted(t *testing.T) {
	lab := labtest.New(t, labtest.Options{OnlyStages: true, Stages: []stage.Source{presets.Volumes()}, OnlyControllers: true})
	lab.Apply(strings.ReplaceAll(volumesOfOthers, "phase: Bound", "phase: Released"))
	lab.Settle()
	require.Equal(t, "Released", text(lab.Get("v1", "PersistentVolume", "made-by-hand"), "status", "phase"))
	require.Equal(t, "Released", text(lab.Get("v1", "PersistentVolume", "kept"), "status", "phase"))
}

func text(obj *unstructured.Unstructured, fields ...string) string {
	s, _, _ := unstructured.NestedString(obj.Object, fields...)
	return s
}

// all are the presets, with a name of each Stage that is unique.
func all() map[string]v1alpha1.Stage {
	stages := map[string]v1alpha1.Stage{}
	for _, s := range []stage.Source{
		presets.NodeFast(), presets.NodeHeartbeat(), presets.NodeHeartbeatWithLease(), presets.NodeChaos(),
		presets.PodFast(), presets.PodGeneral(), presets.PodChaos(), presets.Volumes(),
	} {
		for _, st := range s.Stages() {
			name := st.Name
			if _, taken := stages[name]; taken {
				name += " of PodGeneral"
			}
			stages[name] = st
		}
	}
	return stages
}

// alone compiles a Stage to be played on every object of its kind. The result gives its effects.
func alone(t *testing.T, st v1alpha1.Stage) func(map[string]any) ([]stage.Effect, error) {
	st.Spec.Selector, st.Spec.Delay, st.Spec.WeightFrom = &v1alpha1.StageSelector{}, nil, nil
	set, err := stage.Compile(stage.Options{}, stage.FromStages(st))
	require.NoError(t, err)
	now := time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)
	return func(fields map[string]any) ([]stage.Effect, error) {
		obj := &unstructured.Unstructured{Object: fields}
		tr, ok := set.Next(obj, now, 0, 0)
		require.True(t, ok)
		return tr.Effects(obj, now)
	}
}

// withAllFields is an object of the kind of a Stage with the fields that templates read.
func withAllFields(t *testing.T, st v1alpha1.Stage) map[string]any {
	var obj map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(`
metadata:
  name: name
  namespace: namespace
  uid: uid
  resourceVersion: "1"
  creationTimestamp: "2006-01-02T15:04:05Z"
  labels: {label: text}
  annotations: {}
spec:
  storageClassName: kwok-volume
  volumeName: volume
  volumeMode: Block
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
  nodeName: node
  containers: [{name: main, image: image}, {name: side, image: image}]
  initContainers: [{name: first, image: image}, {name: second, image: image, restartPolicy: Always}]
  readinessGates: [{conditionType: Gate}]
status:
  phase: Pending
  startTime: "2006-01-02T15:04:05Z"
  conditions: [{type: Ready, status: "False", reason: Reason, message: message, lastTransitionTime: "2006-01-02T15:04:05Z"}]
  addresses: [{type: ExternalIP, address: 10.1.1.1}]
  capacity: {cpu: "1"}
  allocatable: {cpu: "1"}
  nodeInfo: {architecture: arm64, osImage: image, kernelVersion: "1.1"}
  containerStatuses: [{name: main, restartCount: 1, state: {running: {startedAt: "2006-01-02T15:04:05Z"}}}]
  initContainerStatuses: [{name: first, restartCount: 1, state: {running: {startedAt: "2006-01-02T15:04:05Z"}}}]
`), &obj))
	obj["apiVersion"], obj["kind"] = st.Spec.ResourceRef.APIGroup, st.Spec.ResourceRef.Kind
	annotations := obj["metadata"].(map[string]any)["annotations"].(map[string]any)
	for _, key := range []string{"container-name", "reason", "message", "type"} {
		annotations[st.Name+".stage.kwok.x-k8s.io/"+key] = "text"
	}
	return obj
}

// The Stages match the table "What a Stage reaches" of the package comment.
func TestWhatAStageReaches(t *testing.T) {
	doc, err := os.ReadFile("../../presets/doc.go")
	require.NoError(t, err)
	stages := all()
	for _, name := range slices.Sorted(maps.Keys(stages)) {
		row := fmt.Sprintf("//\t%-35s%s\n", name, reach(t, stages[name]))
		require.True(t, strings.Contains(string(doc), row), "doc.go lacks the row\n%s", row)
	}
}

// reach says which objects a Stage writes to, by its effects on an object with the uid "uid".
func reach(t *testing.T, st v1alpha1.Stage) string {
	got, err := alone(t, st)(withAllFields(t, st))
	require.NoError(t, err)
	own, others := map[string]bool{}, []string{}
	for _, e := range got {
		switch e := e.(type) {
		case stage.Patch:
			for field := range e.Data.(map[string]any) {
				own[field] = true
			}
		case stage.Delete:
			own["deletes it"] = true
		case stage.Apply:
			others = append(others, e.Object.GetKind()+" "+strings.ReplaceAll(e.Object.GetName(), "uid", "<uid>"))
		}
		if p, ok := e.(stage.Patch); ok {
			require.Empty(t, p.Impersonate)
		}
	}
	return strings.TrimRight(fmt.Sprintf("%-28s%s", strings.Join(slices.Sorted(maps.Keys(own)), ", "), strings.Join(others, ", ")), " ")
}

// hostileTexts would add a field, or another value, to a template without quotes.
var hostileTexts = []string{"x\ninjected: y", "x\n  injected: y", "x\n    injected: y", "x\n      injected: y", "x\n          injected: y", "x, injected: y", `x", injected: "y`, "x\"\ninjected: \"y", "x # y", "{injected: y}", "x: y"}

// No text of an object, neither a value nor a key, changes which objects and fields the Stages of
// the presets write.
func TestNoTextAddsFields(t *testing.T) {
	for name, st := range all() {
		t.Run(name, func(t *testing.T) {
			effects := alone(t, st)
			want, err := effects(withAllFields(t, st))
			require.NoError(t, err)
			for _, hostile := range effort.Some(hostileTexts) {
				for i := range texts(withAllFields(t, st)) {
					obj := withAllFields(t, st)
					texts(obj)[i](hostile)
					got, err := effects(obj)
					require.NoError(t, err, "%q in %v", hostile, obj)
					require.Len(t, got, len(want), "%q in %v", hostile, obj)
					require.False(t, slices.ContainsFunc(got, wasAdded), "%q in %v:\n%v", hostile, obj, got)
				}
			}
		})
	}
}

// texts are functions that replace one text of an object, a value or a key, with another.
func texts(obj map[string]any) []func(string) {
	var list []func(string)
	for _, section := range []string{"metadata", "spec", "status"} {
		list = append(list, textsIn(obj[section])...)
	}
	return list
}

func textsIn(v any) []func(string) {
	var list []func(string)
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if _, ok := v[k].(string); ok {
				list = append(list, func(s string) { v[k] = s }, func(s string) { v[s] = v[k]; delete(v, k) })
			}
			list = append(list, textsIn(v[k])...)
		}
	case []any:
		for i, item := range v {
			if _, ok := item.(string); ok {
				list = append(list, func(s string) { v[i] = s })
			}
			list = append(list, textsIn(item)...)
		}
	}
	return list
}

// wasAdded reports whether an effect has a field that only a hostile text can have added.
func wasAdded(e stage.Effect) bool {
	switch e := e.(type) {
	case stage.Patch:
		return hasAddedField(e.Data)
	case stage.Apply:
		return hasAddedField(e.Object.Object)
	}
	return false
}

func hasAddedField(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			if k == "injected" || k == "x" || hasAddedField(item) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasAddedField)
	}
	return false
}
