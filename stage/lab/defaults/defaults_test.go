package defaults_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/defaults"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Example creates a Deployment as users write it.
func Example() {
	cluster := memory.New(memory.Options{})
	cluster.Extend(defaults.Hooks())
	web := &unstructured.Unstructured{}
	err := yaml.Unmarshal([]byte(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default},
  spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: nginx}]}}}}`), &web.Object)
	if err != nil {
		panic(err)
	}
	stored, err := cluster.Create(nil, web, metav1.CreateOptions{}) //nolint:staticcheck // nothing waits
	if err != nil {
		panic(err)
	}
	text, _ := yaml.Marshal(stored.Object["spec"])
	fmt.Print(string(text))
	// Output:
	// progressDeadlineSeconds: 600
	// replicas: 1
	// revisionHistoryLimit: 10
	// selector:
	//   matchLabels:
	//     app: web
	// strategy:
	//   rollingUpdate:
	//     maxSurge: 25%
	//     maxUnavailable: 25%
	//   type: RollingUpdate
	// template:
	//   metadata:
	//     labels:
	//       app: web
	//   spec:
	//     containers:
	//     - image: nginx
	//       imagePullPolicy: Always
	//       name: a
	//       resources: {}
	//       terminationMessagePath: /dev/termination-log
	//       terminationMessagePolicy: File
	//     dnsPolicy: ClusterFirst
	//     restartPolicy: Always
	//     schedulerName: default-scheduler
	//     securityContext: {}
	//     terminationGracePeriodSeconds: 30
}

func object(t testing.TB, text string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	require.NoError(t, obj.UnmarshalJSON(data))
	return obj
}

const pod = `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}, spec: {containers: [{name: a, image: "nginx:1.2", resources: {limits: {cpu: 1}}}]}}`

// TestAChangeIsFilledIn checks that the fields that a patch leaves open are filled in, and that the
// sender's own object does not change.
func TestAChangeIsFilledIn(t *testing.T) {
	c := memory.New(memory.Options{})
	c.Extend(defaults.Hooks())
	sent := object(t, pod)
	before := fmt.Sprint(sent.Object)
	made, err := c.Create(t.Context(), sent, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, before, fmt.Sprint(sent.Object))
	container := made.Object["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
	require.Equal(t, "IfNotPresent", container["imagePullPolicy"])
	require.Equal(t, map[string]any{"limits": map[string]any{"cpu": int64(1)}, "requests": map[string]any{"cpu": int64(1)}}, container["resources"])
	changed, err := c.Patch(t.Context(), made.GroupVersionKind(), types.NamespacedName{Namespace: "default", Name: "a"}, types.JSONPatchType,
		[]byte(`[{"op": "add", "path": "/status/containerStatuses", "value": [{"name": "a"}]}]`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	statuses, _, err := unstructured.NestedSlice(changed.Object, "status", "containerStatuses")
	require.NoError(t, err)
	require.Equal(t, []any{map[string]any{"name": "a", "image": "", "imageID": "", "lastState": map[string]any{}, "ready": false, "restartCount": int64(0), "state": map[string]any{}}}, statuses)
}

// TestWhatIsStoredIsComplete checks that a change of a status does not look at the spec again.
func TestWhatIsStoredIsComplete(t *testing.T) {
	obj := object(t, pod)
	next := &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
	next.Object["status"] = map[string]any{"phase": "Running"}
	require.NoError(t, defaults.Fill(&memory.Review{Old: obj, New: next}))
	require.NotContains(t, next.Object["spec"], "dnsPolicy", "the spec is that of the stored object")
}

// TestANegativeGracePeriodIsASecond checks that neither a Pod nor a deletion can have a negative
// grace period, and that a template keeps its value.
func TestANegativeGracePeriodIsASecond(t *testing.T) {
	c := memory.New(memory.Options{})
	c.Extend(defaults.Hooks())
	grace := func(u *unstructured.Unstructured, path ...string) int64 {
		seconds, _, err := unstructured.NestedInt64(u.Object, path...)
		require.NoError(t, err)
		return seconds
	}
	p := object(t, `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default},
  spec: {nodeName: node-1, terminationGracePeriodSeconds: -1, containers: [{name: a, image: i}]}}`)
	created, err := c.Create(t.Context(), p, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, int64(1), grace(created, "spec", "terminationGracePeriodSeconds"))
	name := types.NamespacedName{Namespace: "default", Name: "p"}
	patched, err := c.Patch(t.Context(), p.GroupVersionKind(), name, types.MergePatchType, []byte(`{"spec":{"terminationGracePeriodSeconds":-5}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Equal(t, created.Object, patched.Object)

	patched, err = c.Patch(t.Context(), p.GroupVersionKind(), name, types.MergePatchType, []byte(`{"spec":{"terminationGracePeriodSeconds":20}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Equal(t, int64(20), grace(patched, "spec", "terminationGracePeriodSeconds"))
	require.NoError(t, c.Delete(t.Context(), p.GroupVersionKind(), name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(-3))}))
	deleted, err := c.Get(t.Context(), p.GroupVersionKind(), name)
	require.NoError(t, err)
	require.Equal(t, int64(1), *deleted.GetDeletionGracePeriodSeconds())

	template := object(t, `{apiVersion: v1, kind: PodTemplate, metadata: {name: t, namespace: default},
  template: {spec: {terminationGracePeriodSeconds: -1, containers: [{name: a, image: i}]}}}`)
	created, err = c.Create(t.Context(), template, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, int64(-1), grace(created, "template", "spec", "terminationGracePeriodSeconds"))
}
