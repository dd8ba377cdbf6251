package labtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	goruntime "runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// A recorder is a test that notes why it failed.
type recorder struct{ failures []string }

func (r *recorder) Helper() {}

// Fatalf ends the goroutine, like the method of *testing.T.
func (r *recorder) Fatalf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
	goruntime.Goexit()
}

// failure returns the message with which a test fails when it does something in a lab.
func failure(t *testing.T, o labtest.Options, do func(*labtest.Lab)) string {
	t.Helper()
	r, done := &recorder{}, make(chan struct{})
	go func() {
		defer close(done)
		do(labtest.New(r, o))
	}()
	<-done
	require.Len(t, r.failures, 1, "it fails once")
	return r.failures[0]
}

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  progressDeadlineSeconds: 600
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
`

// podIn is a Pod without an owner.
func podIn(namespace, name string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: %s}, spec: {containers: [{name: c, image: i}]}}", name, namespace)
}

var configMaps = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

func field(obj *unstructured.Unstructured, path ...string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(obj.Object, path...)
	return v
}

func TestLab(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	lab := labtest.New(t, labtest.Options{Start: start, Nodes: 2})
	require.Equal(t, start, lab.Now())
	labtest.RequireCurrent(t, lab.Get("v1", "Node", "node-2"))
	lab.Apply(web)
	require.Empty(t, lab.Get("apps/v1", "Deployment", "web").Object["status"], "nothing happens before time goes on")
	lab.WaitCurrent()
	labtest.RequireCurrent(t, lab.Get("apps/v1", "Deployment", "web"))
	lab.Advance(time.Hour)
	require.GreaterOrEqual(t, lab.Now().Sub(start), time.Hour)
	require.Len(t, lab.List("v1", "Pod", "app=web"), 3)

	lab.Delete(object("apps/v1", "Deployment", "web"))
	lab.Settle()
	require.Empty(t, lab.List("v1", "Pod", ""))
	lab.WaitCurrent() // of nothing
}

// A bundle that needs every controller but CronJobs.
func TestABundleBecomesCurrent(t *testing.T) {
	data, err := os.ReadFile("testdata/bundle.yaml")
	require.NoError(t, err)
	lab := labtest.New(t, labtest.Options{OnlyStages: true, Stages: []stage.Source{presets.NodeFast(), presets.PodGeneral()}})
	lab.Apply(string(data))
	lab.WaitCurrent()
	lab.Settle()
	lab.WaitCurrent()
	require.Equal(t, "Bound", field(lab.Get("v1", "PersistentVolumeClaim", "cache"), "status", "phase"))
}

func TestApplyTakesDocumentsListsAndObjects(t *testing.T) {
	lab := labtest.New(t, labtest.Options{})
	lab.Apply(`
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: shop}}
---
{apiVersion: v1, kind: Pod, metadata: {name: c, uid: of-elsewhere, resourceVersion: "7"}, spec: {containers: [{name: c, image: i}]}, status: {phase: Running}}
`, object("v1", "ConfigMap", "e"), `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d"}}`)
	lab.Get("v1", "ConfigMap", "a")
	lab.Get("v1", "ConfigMap", "shop/b")
	lab.Get("v1", "Namespace", "shop")
	lab.Get("v1", "ConfigMap", "d")
	lab.Get("v1", "ConfigMap", "e")

	list := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{*object("v1", "ConfigMap", "f"), *object("v1", "Secret", "g")}}
	lab.Apply(list, &daemonSetList{Items: []daemonSet{*agents()}})
	lab.Get("v1", "ConfigMap", "f")
	lab.Get("v1", "Secret", "g")
	require.Zero(t, field(lab.Get("apps/v1", "DaemonSet", "agent"), "status", "desiredNumberScheduled"))
	pod := lab.Get("v1", "Pod", "c")
	require.Equal(t, "Running", field(pod, "status", "phase"))
	require.NotEqual(t, "of-elsewhere", string(pod.GetUID()))
}

func TestApplyAgainRemovesWhatIsNoLongerGiven(t *testing.T) {
	lab := labtest.New(t, labtest.Options{})
	lab.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {tier: front}}, data: {k: v, l: w}}")
	lab.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: u}}")
	a := lab.Get("v1", "ConfigMap", "a")
	require.Empty(t, a.GetLabels())
	require.Equal(t, map[string]any{"k": "u"}, a.Object["data"])

	lab.Apply(web)
	lab.WaitCurrent()
	lab.Apply(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web},
  spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}}}`)
	scaled := lab.Get("apps/v1", "Deployment", "web")
	require.EqualValues(t, 3, field(scaled, "status", "readyReplicas"), "the status stays until a controller changes it")
	lab.WaitCurrent()
	require.EqualValues(t, 1, field(lab.Get("apps/v1", "Deployment", "web"), "status", "readyReplicas"))
}

// A daemonSet is like a Go type of Kubernetes: the status is always there.
type daemonSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              map[string]any `json:"spec,omitempty"`
	Status            struct {
		Desired    int32    `json:"desiredNumberScheduled"`
		Ready      int32    `json:"numberReady"`
		Conditions []string `json:"conditions"`
	} `json:"status"`
}

func (d *daemonSet) DeepCopyObject() runtime.Object { c := *d; return &c }

type daemonSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []daemonSet `json:"items"`
}

func (d *daemonSetList) DeepCopyObject() runtime.Object { c := *d; return &c }

func agents() *daemonSet {
	return &daemonSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}, ObjectMeta: metav1.ObjectMeta{Name: "agent"}, Spec: map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"app": "agent"}},
		"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "agent"}}, "spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}},
	}}
}

func TestApplyOfAGoTypeLeavesTheStatusAlone(t *testing.T) {
	d := agents()
	lab := labtest.New(t, labtest.Options{})
	lab.Apply(d)
	lab.WaitCurrent(d)
	lab.Apply(d)
	require.EqualValues(t, 3, field(lab.Get("apps/v1", "DaemonSet", "agent"), "status", "numberReady"))
	d.Status.Ready = 1
	lab.Apply(d)
	require.EqualValues(t, 1, field(lab.Get("apps/v1", "DaemonSet", "agent"), "status", "numberReady"))
}

func TestKindsOfCustomObjects(t *testing.T) {
	train := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Train"}
	lab := labtest.New(t, labtest.Options{Kinds: []memory.Kind{{GroupVersionKind: train, Status: true}}, Stages: []stage.Source{stages(`
{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: arrive}, spec: {resourceRef: {apiGroup: example.com/v1, kind: Train},
  selector: {matchExpressions: [{key: .status.phase, operator: DoesNotExist}]}, delay: {durationMilliseconds: 60000}, next: {statusTemplate: "phase: Ready"}}}`)}})
	lab.Apply("{apiVersion: example.com/v1, kind: Train, metadata: {name: t}}")
	began := lab.Now()
	lab.Settle()
	require.Equal(t, time.Minute, lab.Now().Sub(began))
	require.Equal(t, "Ready", field(lab.Get("example.com/v1", "Train", "t"), "status", "phase"))
}

func object(apiVersion, kind, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}}}
}

func stages(text string) stage.Source { return stage.Parse("stages.yaml", []byte(text)) }

func TestLabFails(t *testing.T) {
	const toggle = `
{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: "off"}, spec: {resourceRef: {kind: Pod},
  selector: {matchLabels: {lit: "1"}}, steps: [{patch: {root: metadata, template: "labels: {lit: '0'}"}}]}}
---
{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: "on"}, spec: {resourceRef: {kind: Pod},
  selector: {matchLabels: {lit: "0"}}, steps: [{patch: {root: metadata, template: "labels: {lit: '1'}"}}]}}`
	const lit = `{apiVersion: v1, kind: Pod, metadata: {name: lamp, labels: {lit: "1"}}, spec: {containers: [{name: c, image: i}]}}`
	spin := func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
		n := fmt.Appendf(nil, `{"data":{"n":"%s."}}`, field(r.Cache.Get(configMaps, r.Name), "data", "n"))
		_, err := r.Client.Patch(context.Background(), configMaps, r.Name, types.MergePatchType, n, metav1.PatchOptions{})
		return reconcile.Result{}, err
	}
	spinning := reconcile.Controller{Name: "spinner", For: configMaps, When: func(ch reconcile.Change) bool { return ch.Object().GetName() == "top" }, Reconcile: spin}
	for name, c := range map[string]struct {
		options labtest.Options
		do      func(*labtest.Lab)
		want    []string
	}{
		"the default Stages twice": {labtest.Options{Stages: []stage.Source{presets.PodGeneral()}}, nil, []string{"pod-ready", "unless OnlyStages is set"}},
		"the default controllers twice": {labtest.Options{Controllers: labtest.Controllers()}, nil,
			[]string{`controller "deployment" would run twice`, "unless OnlyControllers is set"}},
		"faulty Stages": {labtest.Options{Stages: []stage.Source{stages(
			`{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: s}, spec: {}}`)}}, nil, []string{"stages.yaml:1:", "resourceRef"}},
		"Stages of no kind": {labtest.Options{Stages: []stage.Source{stages(`{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: s},
			spec: {resourceRef: {apiGroup: a.b/v1, kind: C}, selector: {}, next: {delete: true}}}`)}}, nil, []string{"a.b/v1, Kind=C is no known kind"}},
		"failures of no kind": {labtest.Options{Failures: []labtest.Failure{{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Train"}}}}, nil, []string{"Kind=Train is no known kind"}},
		"malformed YAML":      {do: func(l *labtest.Lab) { l.Apply("kind: [") }, want: []string{"labtest: manifest:2:1: document[0]: not YAML"}},
		"a Stage as manifest": {do: func(l *labtest.Lab) { l.Apply(toggle) }, want: []string{"Stages belong into Options.Stages"}},
		"no manifest":         {do: func(l *labtest.Lab) { l.Apply(7) }, want: []string{"a manifest is YAML as a string, or an object, not a int"}},
		"unknown kind": {do: func(l *labtest.Lab) { l.Apply("{apiVersion: a.b/v1, kind: C, metadata: {name: thing}}") },
			want: []string{"C default/thing: ", "a.b/v1, Kind=C is no known kind"}},
		"a missing namespace": {do: func(l *labtest.Lab) { l.Apply(podIn("shop", "web")) }, want: []string{`namespaces "shop" not found`}},
		"no selector": {do: func(l *labtest.Lab) {
			l.Apply("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 1}}")
		},
			want: []string{"spec.selector: Required value", "spec.template.spec.containers: Required value"}},
		"no name":            {do: func(l *labtest.Lab) { l.Apply("{apiVersion: v1, kind: Pod, metadata: {}}") }, want: []string{"Pod default/: "}},
		"nothing to apply":   {do: func(l *labtest.Lab) { l.Apply((*unstructured.Unstructured)(nil)) }, want: []string{"there is no object"}},
		"List":               {do: func(l *labtest.Lab) { l.List("v1", "Pod", "=") }, want: []string{"unable to parse label selector"}},
		"Delete":             {do: func(l *labtest.Lab) { l.Delete(object("v1", "Pod", "web")) }, want: []string{`pods "web" not found`}},
		"Get":                {do: func(l *labtest.Lab) { l.Get("v1", "Pod", "shop/web") }, want: []string{`pods "web" not found`}},
		"Advance":            {do: func(l *labtest.Lab) { l.Advance(-time.Second) }, want: []string{"time does not go back by 1s"}},
		"Drive nothing":      {do: func(l *labtest.Lab) { l.Drive(&unstructured.Unstructured{}, labtest.Ready) }, want: []string{"without a kind"}},
		"Drive what is gone": {do: func(l *labtest.Lab) { l.Drive(object("v1", "Pod", "web"), labtest.Ready) }, want: []string{`pods "web" not found`}},
		"Drive somewhere": {do: func(l *labtest.Lab) {
			l.Apply(podIn("default", "web"))
			l.Drive(object("v1", "Pod", "web"), "Sleeping")
		}, want: []string{"Pod default/web: objects of this kind cannot be made Sleeping, only [CrashLoopBackOff Current"}},
		"a Stage loop":      {labtest.Options{OnlyControllers: true, OnlyStages: true, Stages: []stage.Source{stages(toggle)}}, func(l *labtest.Lab) { l.Apply(lit); l.Settle() }, []string{"Pod default/lamp", stage.ErrLivelock.Error()}},
		"a loop in Advance": {labtest.Options{OnlyControllers: true, OnlyStages: true, Stages: []stage.Source{stages(toggle)}}, func(l *labtest.Lab) { l.Apply(lit); l.Advance(0) }, []string{stage.ErrLivelock.Error()}},
		"a controller's loop": {labtest.Options{Controllers: []reconcile.Controller{spinning}}, func(l *labtest.Lab) {
			l.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: top}}")
			l.Settle()
		}, []string{"spinner default/top", reconcile.ErrLivelock.Error()}},
		"heartbeats": {labtest.Options{Timeout: 10 * time.Minute, Stages: []stage.Source{presets.NodeHeartbeat()}}, func(l *labtest.Lab) { l.Settle() }, []string{"not settled after 10m0s; the next thing is due in "}},
	} {
		t.Run(name, func(t *testing.T) {
			do := c.do
			if do == nil {
				do = func(*labtest.Lab) {}
			}
			said := failure(t, c.options, do)
			for _, want := range append(c.want, "labtest: ") {
				require.Contains(t, said, want)
			}
		})
	}
}

func TestALabInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab := labtest.New(t, labtest.Options{})
		changes, err := lab.Cluster().Watch(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "", metav1.ListOptions{})
		require.NoError(t, err)
		seen := map[string]string{}
		go func() {
			for e := range changes.ResultChan() {
				pod := e.Object.(*unstructured.Unstructured)
				seen[pod.GetName()], _ = field(pod, "status", "phase").(string)
			}
		}()
		lab.Apply(web)
		lab.WaitCurrent()
		synctest.Wait()
		require.Len(t, seen, 3)
		for name, phase := range seen {
			require.Equal(t, "Running", phase, name)
		}
		changes.Stop()
	})
}

// TestOthersFollowInABubble has a controller in another goroutine that, on its own clock, answers
// each ConfigMap with a Pod ten seconds later.
func TestOthersFollowInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		follow := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
		lab := labtest.New(t, labtest.Options{Start: time.Now(), Sync: follow, OnlyStages: true, Stages: []stage.Source{presets.NodeFast(), presets.PodGeneral()}})
		changes, err := lab.Cluster().Watch(t.Context(), configMaps, "", metav1.ListOptions{})
		require.NoError(t, err)
		defer changes.Stop()
		go func() {
			for e := range changes.ResultChan() {
				name := e.Object.(*unstructured.Unstructured).GetName()
				if name == "kube-root-ca.crt" {
					continue
				}
				time.Sleep(10 * time.Second)
				_ = lab.Cluster().Load(t.Context(), []byte(podIn("default", name)))
			}
		}()
		lab.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}")
		began := lab.Now()
		lab.WaitCurrent(object("v1", "Pod", "web"))
		require.Greater(t, lab.Now().Sub(began), 10*time.Second)
		require.Less(t, lab.Now().Sub(began), 30*time.Second)
		require.Equal(t, time.Now().UTC(), lab.Now().UTC(), "the clocks go together")
		lab.Advance(time.Minute)
		require.Equal(t, time.Now().UTC(), lab.Now().UTC())
		lab.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}")
		lab.Advance(30 * time.Second)
		labtest.RequireCurrent(t, lab.Get("v1", "Pod", "other"))
	})
}

// everything is all objects of a lab after a bundle was installed in it, some of whose Pods fail.
func everything(t *testing.T, seed uint64) []byte {
	t.Helper()
	bundle, err := os.ReadFile("testdata/bundle.yaml")
	require.NoError(t, err)
	lab := labtest.New(t, labtest.Options{
		Seed: seed, OnlyStages: true, Stages: []stage.Source{presets.NodeFast(), presets.PodGeneral()},
		Failures: []labtest.Failure{{State: kstatustest.OOMKilled, Rate: 0.5}},
	})
	lab.Apply(string(bundle))
	lab.Advance(10 * time.Minute)
	var all []byte
	for _, k := range lab.Cluster().Kinds() {
		found, err := lab.Cluster().List(t.Context(), k.GroupVersionKind, "", metav1.ListOptions{})
		require.NoError(t, err)
		text, err := json.Marshal(found)
		require.NoError(t, err)
		all = append(all, text...)
	}
	return all
}

func TestTheSameLabTwice(t *testing.T) {
	first := everything(t, 1)
	require.Greater(t, len(first), 10_000)
	require.Equal(t, string(first), string(everything(t, 1)))
	require.NotEqual(t, string(first), string(everything(t, 2)))
}
