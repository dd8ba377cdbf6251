package kstatustest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/internal/txtar"
	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &obj.Object))
	return obj
}

const podSpec = `{containers: [{name: web, image: nginx}, {name: log, image: fluent}]}`

// A madeObject is an object of testdata/objects.txtar.
type madeObject struct {
	name, object string
	states       []kstatustest.State
	lacks        string // part of what Check says of the object as it is; "" if it is Current, "*" if rules may differ
}

func readObjects(t testing.TB) []madeObject {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/objects.txtar")
	require.NoError(t, err)
	var objects []madeObject
	for _, file := range archive.Files {
		o := madeObject{name: file.Name, object: string(file.Data)}
		for line := range strings.Lines(o.object) {
			if list, ok := strings.CutPrefix(line, "# states:"); ok {
				o.states = states(list)
			} else if text, ok := strings.CutPrefix(line, "# lacks:"); ok {
				o.lacks = strings.TrimSpace(text)
			}
		}
		require.NotEmpty(t, o.states, o.name)
		objects = append(objects, o)
	}
	return objects
}

func states(s string) (out []kstatustest.State) {
	for _, word := range strings.Fields(s) {
		out = append(out, kstatustest.State(word))
	}
	return out
}

func TestMake(t *testing.T) {
	for _, c := range readObjects(t) {
		for _, state := range c.states {
			t.Run(c.name+"/"+string(state), func(t *testing.T) {
				obj := parse(t, c.object)
				require.NoError(t, kstatustest.Make(obj, state, kstatustest.Options{}))
				once := obj.DeepCopy()
				require.NoError(t, kstatustest.Make(obj, state, kstatustest.Options{}))
				require.Equal(t, once, obj, "twice is once")
				for _, item := range list(obj, "status", "conditions") {
					require.NotEmpty(t, item.(map[string]any)["lastTransitionTime"])
				}
				if state == kstatustest.Current {
					kstatustest.RequireCurrent(t, obj)
				}
			})
		}
	}
}

func list(obj *unstructured.Unstructured, path ...string) []any {
	items, _, _ := unstructured.NestedSlice(obj.Object, path...)
	return items
}

func TestCheckTellsWhatIsMissing(t *testing.T) {
	for _, c := range readObjects(t) {
		t.Run(c.name, func(t *testing.T) {
			obj := parse(t, c.object)
			before := obj.DeepCopy()
			err := kstatustest.Check(obj)
			require.Equal(t, before, obj, "Check changes nothing")
			switch c.lacks {
			case "":
				require.NoError(t, err)
			case "*": // either verdict is one that rules may change their mind about
			default:
				require.ErrorContains(t, err, c.lacks)
			}
		})
	}
}

// TestEveryStateIsSeen holds the verdict of package kstatus on each state that it has a word for.
func TestEveryStateIsSeen(t *testing.T) {
	objects := readObjects(t)
	pod := objects[slices.IndexFunc(objects, func(o madeObject) bool { return o.name == "Pod" })].object
	want := map[kstatustest.State]kstatus.Status{
		kstatustest.Current: kstatus.Current, kstatustest.Succeeded: kstatus.Current, kstatustest.Pending: kstatus.InProgress,
		kstatustest.Failed: kstatus.Failed, kstatustest.CrashLoopBackOff: kstatus.Failed, kstatustest.ImagePullBackOff: kstatus.Failed,
		kstatustest.OOMKilled: kstatus.Failed, kstatustest.Evicted: kstatus.Failed, kstatustest.Unschedulable: kstatus.InProgress,
	}
	for state, status := range want {
		obj := parse(t, pod)
		require.NoError(t, kstatustest.Make(obj, state, kstatustest.Options{}))
		r := kstatus.Extended().Compute(obj, obj.GetCreationTimestamp().Time)
		require.Equal(t, status, r.Status, "%s: %s", state, r)
	}
}

func TestTheChosenContainerFails(t *testing.T) {
	obj := parse(t, `{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop, uid: u-1}, spec: `+podSpec+`}`)
	require.NoError(t, kstatustest.Make(obj, kstatustest.CrashLoopBackOff, kstatustest.Options{Container: "log"}))
	statuses := list(obj, "status", "containerStatuses")
	require.Equal(t, true, statuses[0].(map[string]any)["ready"])
	waiting, _, _ := unstructured.NestedMap(statuses[1].(map[string]any), "state", "waiting")
	require.Equal(t, "back-off 5m0s restarting failed container=log pod=web_shop(u-1)", waiting["message"])
}

func TestMakeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		object string
		state  kstatustest.State
		want   string
	}{
		"a state that the kind has not": {`{apiVersion: apps/v1, kind: StatefulSet,
  metadata: {name: db}}`, kstatustest.Failed, "cannot be made Failed, only [Current]"},
		"an object being deleted": {`{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: a,
  deletionTimestamp: "2006-01-02T15:04:05Z"}}`, kstatustest.Current, "Pod a/web: whatever its status says, the extended profile has it as Terminating"},
		"fewer replicas than none": {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web},
  spec: {replicas: -3}}`, kstatustest.Current, "spec.replicas: -3 is no number of Pods"},
		"replicas that are text": {`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db},
  spec: {replicas: "3"}}`, kstatustest.Current, "spec.replicas: 3 is no number"},
		"half a completion": {`{apiVersion: batch/v1, kind: Job, metadata: {name: a},
  spec: {completions: 1.5}}`, kstatustest.Failed, "spec.completions: 1.5 is no"},
		"a kind with words of its own": {`{apiVersion: longhorn.io/v1beta2, kind: Volume,
  metadata: {name: v}}`, kstatustest.Current, "Volume v: "},
		"a route without parents": {`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute,
  metadata: {name: r}}`, kstatustest.Current, "HTTPRoute r: "},
		"a phase of another controller": {`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w},
  status: {phase: Broken}}`, kstatustest.Current, "Widget w: "},
		"no kind": {`{metadata: {name: web}}`, kstatustest.Current, "without a kind"},
	} {
		t.Run(name, func(t *testing.T) {
			obj := parse(t, c.object)
			before := obj.DeepCopy()
			require.ErrorContains(t, kstatustest.Make(obj, c.state, kstatustest.Options{}), c.want)
			require.Equal(t, before, obj)
		})
	}
	require.Error(t, kstatustest.MakeCurrent(nil))
	require.Error(t, kstatustest.MakeCurrent((*unstructured.Unstructured)(nil)))
	require.Error(t, kstatustest.MakeCurrent(&unstructured.Unstructured{}))
}

// TestVocabularies: a kind gets the fields and words of its API, and no others.
func TestVocabularies(t *testing.T) {
	objects := readObjects(t)
	for name, c := range map[string]struct {
		state      kstatustest.State
		has, lacks []string
	}{
		"HTTPRoute":             {kstatustest.Current, []string{"parents"}, []string{"conditions", "observedGeneration"}},
		"Backup":                {kstatustest.Failed, []string{"phase", "failureReason"}, []string{"conditions"}},
		"ClusterServiceVersion": {kstatustest.Failed, []string{"phase", "reason"}, []string{"conditions"}},
		"CloudNativePG Cluster": {kstatustest.Current, []string{"phase", "readyInstances"}, []string{"conditions"}},
		"Elasticsearch":         {kstatustest.Current, []string{"health", "phase"}, []string{"conditions"}},
		"Application":           {kstatustest.Failed, []string{"health", "sync"}, []string{"conditions", "phase"}},
	} {
		i := slices.IndexFunc(objects, func(o madeObject) bool { return o.name == name })
		obj := parse(t, objects[i].object)
		require.NoError(t, kstatustest.Make(obj, c.state, kstatustest.Options{}), name)
		status := obj.Object["status"].(map[string]any)
		for _, field := range c.has {
			require.Contains(t, status, field, name)
		}
		for _, field := range c.lacks {
			require.NotContains(t, status, field, name)
		}
	}
}

// TestAFailedCustomObjectIsNotStalled unless it was before: only some controllers write Stalled.
func TestAFailedCustomObjectIsNotStalled(t *testing.T) {
	for status, want := range map[string][]string{
		`{}`: {"Ready=False"},
		`{conditions: [{type: Synced, status: "True", reason: A}, {type: Ready, status: "True"}]}`: {"Ready=False", "Synced=True"},
		`{conditions: [{type: Stalled, status: "False"}, {type: Ready, status: "True"}]}`:          {"Ready=False", "Stalled=True"},
	} {
		obj := parse(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, status: `+status+`}`)
		require.NoError(t, kstatustest.MakeFailed(obj))
		var got []string
		for _, item := range list(obj, "status", "conditions") {
			c := item.(map[string]any)
			got = append(got, c["type"].(string)+"="+c["status"].(string))
		}
		require.Equal(t, want, got)
	}
}

func TestWhatStandsBesideStays(t *testing.T) {
	obj := parse(t, `{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: `+podSpec+`, status: {podIP: 10.0.0.7, nominatedNodeName: node-1,
		conditions: [{type: Ready, status: "True", lastTransitionTime: "2005-01-01T00:00:00Z"}]}}`)
	require.NoError(t, kstatustest.MakeCurrent(obj))
	status := obj.Object["status"].(map[string]any)
	require.Equal(t, "10.0.0.7", status["podIP"])
	require.Equal(t, []any{map[string]any{"ip": "10.0.0.7"}}, status["podIPs"])
	require.Equal(t, "node-1", status["nominatedNodeName"])
	require.Equal(t, "2005-01-01T00:00:00Z", status["conditions"].([]any)[2].(map[string]any)["lastTransitionTime"])
}

// TestNodesOfADaemonSet: the numbers of a typed object that no controller has seen are 0, and mean
// nothing.
func TestNodesOfADaemonSet(t *testing.T) {
	for status, want := range map[string]int64{
		`{desiredNumberScheduled: 0, numberReady: 0}`:                        2,
		`{observedGeneration: 1, desiredNumberScheduled: 0, numberReady: 0}`: 0,
		`{observedGeneration: 1, desiredNumberScheduled: 5}`:                 5,
	} {
		obj := parse(t, `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, status: `+status+`}`)
		require.NoError(t, kstatustest.Make(obj, kstatustest.Current, kstatustest.Options{Nodes: 2}))
		ready, _, _ := unstructured.NestedInt64(obj.Object, "status", "numberReady")
		require.Equal(t, want, ready, status)
	}
}

type recorder struct{ failures []string }

func (r *recorder) Helper()                   {}
func (r *recorder) Fatalf(f string, a ...any) { r.failures = append(r.failures, f) }

func TestRequireCurrent(t *testing.T) {
	r := &recorder{}
	pod := parse(t, `{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: `+podSpec+`}`)
	kstatustest.RequireCurrent(r, pod)
	require.Len(t, r.failures, 1)
	require.NoError(t, kstatustest.MakeCurrent(pod))
	kstatustest.RequireCurrent(r, pod)
	require.Len(t, r.failures, 1)
}

func FuzzMake(f *testing.F) {
	for _, c := range readObjects(f) {
		f.Add(c.object)
	}
	f.Fuzz(func(t *testing.T, text string) {
		obj := &unstructured.Unstructured{}
		if yaml.Unmarshal([]byte(text), &obj.Object) != nil {
			return
		}
		for _, state := range states("Current Failed CrashLoopBackOff") {
			made := obj.DeepCopy()
			if kstatustest.Make(made, state, kstatustest.Options{}) == nil && state == kstatustest.Current {
				require.NoError(t, kstatustest.Check(made))
			}
		}
	})
}
