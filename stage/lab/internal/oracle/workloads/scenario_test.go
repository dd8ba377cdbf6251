package workloads

import (
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"
)

// A scenario is an object named a and the changes of it and its Pods.
type scenario struct {
	kind     string
	settings []setting // of the object from the start
	steps    []step    // by time
}

// A setting is a field and its value; as a merge patch, null removes the field.
type setting struct {
	path  string // with / between the names of fields
	value string // YAML
}

// A step is a change at a second.
type step struct {
	at int
	do string // a verb of [world.do]
	n  int    // of the Pod or Node that it is about
	setting
}

func (s scenario) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", s.kind)
	for _, v := range s.settings {
		fmt.Fprintf(&b, " %s=%s", v.path, v.value)
	}
	for _, v := range s.steps {
		fmt.Fprintf(&b, "\n%5d s %s", v.at, v)
	}
	return b.String()
}

func (s step) String() string {
	switch s.do {
	case "create", "delete", "orphan", "foreground":
		return s.do
	case "quota":
		return fmt.Sprint("quota ", s.n)
	case "set":
		return "set " + s.path + "=" + s.value
	}
	return strings.TrimSpace(fmt.Sprintf("%s %d %s %s", s.do, s.n, s.path, s.value))
}

func (s scenario) length() time.Duration {
	last := 0
	if len(s.steps) > 0 {
		last = s.steps[len(s.steps)-1].at
	}
	return time.Duration(last+after[s.kind]) * time.Second
}

// after is how many seconds a kind is looked at after the last step.
var after = map[string]int{"Deployment": 30, "ReplicaSet": 10, "StatefulSet": 40, "DaemonSet": 20, "Job": 60, "CronJob": 130}

var kindsByName = map[string]schema.GroupVersionKind{
	"Deployment": deploymentKind, "ReplicaSet": replicaSetKind, "StatefulSet": statefulKind, "DaemonSet": daemonKind, "Job": jobKind, "CronJob": cronJobKind,
}

//go:embed testdata/objects.yaml
var objects []byte

// object returns the object of the scenario at its creation.
func (s scenario) object() *unstructured.Unstructured {
	u := base(s.kind)
	for _, v := range s.settings {
		v.apply(u.Object)
	}
	if spec, ok, _ := unstructured.NestedMap(u.Object, "spec", "jobTemplate", "spec"); ok {
		_ = unstructured.SetNestedMap(u.Object, validJob(spec), "spec", "jobTemplate", "spec")
	} else if s.kind == "Job" {
		u.Object["spec"] = validJob(u.Object["spec"].(map[string]any))
	}
	return u
}

// base returns the object of a kind without settings.
func base(kind string) *unstructured.Unstructured {
	for _, text := range strings.Split(string(objects), "---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			panic(err)
		}
		if u.GetKind() == kind {
			return u
		}
	}
	panic(kind)
}

// validJob completes the spec of a Job so that an API server accepts it: some fields need others.
func validJob(spec map[string]any) map[string]any {
	policy, _, _ := unstructured.NestedString(spec, "template", "spec", "restartPolicy")
	if perIndex := spec["completionMode"] == "Indexed" && spec["backoffLimitPerIndex"] != nil; policy == "OnFailure" || !perIndex && strings.Contains(fmt.Sprint(spec["podFailurePolicy"]), "FailIndex") {
		delete(spec, "podFailurePolicy")
	}
	if policy == "OnFailure" {
		delete(spec, "podReplacementPolicy")
	}
	if spec["completionMode"] == "Indexed" {
		if spec["completions"] == nil {
			spec["completions"] = int64(3)
		}
		return spec
	}
	for _, field := range []string{"backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"} {
		delete(spec, field)
	}
	return spec
}

// apply sets the field of a setting.
func (v setting) apply(obj map[string]any) {
	var value any
	if err := yaml.Unmarshal([]byte(v.value), &value); err != nil {
		panic(err)
	}
	path := v.fields()
	for _, name := range path[:len(path)-1] {
		next, _ := obj[name].(map[string]any)
		if next == nil {
			next = map[string]any{}
			obj[name] = next
		}
		obj = next
	}
	if obj[path[len(path)-1]] = whole(value); value == nil {
		delete(obj, path[len(path)-1])
	}
}

// fields are the names of a path. A slash in a name is written as ~.
func (v setting) fields() []string {
	names := strings.Split(v.path, "/")
	for i := range names {
		names[i] = strings.ReplaceAll(names[i], "~", "/")
	}
	return names
}

func whole(v any) any {
	switch v := v.(type) {
	case float64:
		return int64(v)
	case map[string]any:
		for k := range v {
			v[k] = whole(v[k])
		}
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	}
	return v
}

// do carries out a step. A step whose object is missing does nothing.
func (w *world) do(s step) {
	kind := kindsByName[w.s.kind]
	name := types.NamespacedName{Namespace: "default", Name: "a"}
	switch s.do {
	case "create":
		_, err := w.create(w.ctx, w.s.object(), metav1.CreateOptions{})
		require.True(w.t, err == nil || apierrors.IsAlreadyExists(err), "%v", err)
	case "set":
		w.update(kind, "a", s.setting)
	case "delete", "orphan", "foreground":
		policy := map[string]metav1.DeletionPropagation{"delete": "Background", "orphan": "Orphan", "foreground": "Foreground"}[s.do]
		_ = w.cluster.Delete(w.ctx, kind, name, metav1.DeleteOptions{PropagationPolicy: &policy})
	case "pod-gone", "pod-set", "pod-fails", "pod-unready":
		w.doPod(s)
	case "node":
		w.createNode(s.n)
	case "node-set":
		w.update(nodeKind, fmt.Sprint("n", s.n), s.setting)
	case "node-gone":
		_ = w.cluster.Delete(w.ctx, nodeKind, types.NamespacedName{Name: fmt.Sprint("n", s.n)}, metav1.DeleteOptions{})
	case "quota":
		w.quota.Store(int64(s.n))
	case "wait":
	default:
		panic(s.do)
	}
}

func nodeNamed(n int) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"labels": map[string]any{"even": fmt.Sprint(n%2 == 0)}}}}
	u.SetGroupVersionKind(nodeKind)
	u.SetName(fmt.Sprint("n", n))
	return u
}

// createNode creates a Node that is ready, unless it is there.
func (w *world) createNode(n int) {
	node, err := w.create(w.ctx, nodeNamed(n), metav1.CreateOptions{})
	if err != nil {
		return
	}
	node = node.DeepCopy()
	_ = unstructured.SetNestedSlice(node.Object, []any{map[string]any{"type": "Ready", "status": "True"}}, "status", "conditions")
	_, err = w.cluster.Update(w.ctx, node, metav1.UpdateOptions{}, "status")
	require.NoError(w.t, err)
}

// update sets a field of an object, if it is there.
func (w *world) update(kind schema.GroupVersionKind, name string, v setting) {
	obj := w.get(kind, name)
	if obj == nil {
		return
	}
	obj = obj.DeepCopy()
	v.apply(obj.Object)
	_, err := w.cluster.Update(w.ctx, defaulted(obj), metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

// anonymous is the state of a Pod, without its name if that is generated.
func anonymous(pod *unstructured.Unstructured) string {
	u := pod.DeepCopy()
	if isGenerated(u) {
		u.SetName("")
		u.SetUID("")
	}
	return state(watch.Modified, u)
}

// doPod does something to the n-th existing Pod, by its state.
func (w *world) doPod(s step) {
	list, err := w.cluster.List(w.ctx, podKind, "default", metav1.ListOptions{})
	require.NoError(w.t, err)
	if len(list.Items) == 0 {
		return
	}
	slices.SortFunc(list.Items, func(a, b unstructured.Unstructured) int { return strings.Compare(anonymous(&a), anonymous(&b)) })
	pod := list.Items[s.n%len(list.Items)].DeepCopy()
	name := types.NamespacedName{Namespace: "default", Name: pod.GetName()}
	switch s.do {
	case "pod-gone":
		_ = w.cluster.Delete(w.ctx, podKind, name, metav1.DeleteOptions{})
	case "pod-set":
		s.apply(pod.Object)
		_, err = w.cluster.Update(w.ctx, pod, metav1.UpdateOptions{})
	case "pod-fails", "pod-unready":
		err = w.status(pod, s)
	}
	require.NoError(w.t, err)
}

// status has a Pod that runs fail, or be no longer ready.
func (w *world) status(pod *unstructured.Unstructured, s step) error {
	if phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase"); phase != "Running" {
		return nil
	}
	now := time.Now().UTC().Format(time.RFC3339)
	conditions := []any{map[string]any{"type": "Ready", "status": "False", "lastTransitionTime": now}}
	if s.do == "pod-fails" {
		_ = unstructured.SetNestedField(pod.Object, "Failed", "status", "phase")
		started, _, _ := unstructured.NestedString(pod.Object, "status", "startTime")
		ended := map[string]any{"exitCode": int64(s.n%3 + 1), "startedAt": started, "finishedAt": now}
		_ = unstructured.SetNestedSlice(pod.Object, []any{map[string]any{"name": "c", "image": "i", "imageID": "i", "ready": false, "restartCount": int64(restarts(pod.Object)),
			"state": map[string]any{"terminated": ended}}}, "status", "containerStatuses")
		if s.value != "" {
			conditions = append(conditions, map[string]any{"type": "DisruptionTarget", "status": "True", "reason": "x", "lastTransitionTime": now})
		}
	}
	_ = unstructured.SetNestedSlice(pod.Object, conditions, "status", "conditions")
	_, err := w.cluster.Update(context.Background(), pod, metav1.UpdateOptions{}, "status")
	return err
}

// shrink returns scenarios that are smaller, the smallest first.
func (s scenario) shrink() (smaller []scenario) {
	for i := range s.steps {
		if s.steps[i].do != "create" || slices.ContainsFunc(s.steps[:i], func(s step) bool { return s.do == "create" }) {
			smaller = append(smaller, scenario{s.kind, s.settings, slices.Delete(slices.Clone(s.steps), i, i+1)})
		}
	}
	for i := range s.settings {
		smaller = append(smaller, scenario{s.kind, slices.Delete(slices.Clone(s.settings), i, i+1), s.steps})
	}
	return smaller
}

// A choice is a field and the values that it may have.
type choice struct {
	path   string
	values []string
}

// random returns the scenario of a seed. Kinds take turns.
func random(seed uint64, kinds []string) scenario {
	r := rand.New(rand.NewPCG(seed, 7))
	kind := kinds[int(seed)%len(kinds)]
	s := scenario{kind: kind}
	for _, c := range settingsOf[kind] {
		if r.IntN(3) == 0 {
			s.settings = append(s.settings, c.draw(r))
		}
	}
	at := 1
	if kind == "DaemonSet" {
		for n := range 2 + r.IntN(3) {
			s.steps = append(s.steps, step{at: 0, do: "node", n: n})
		}
	}
	s.steps = append(s.steps, step{at: at, do: "create"})
	for range 1 + r.IntN(6) {
		at += 1 + r.IntN(1+r.IntN(8))
		next := stepsOf[kind][r.IntN(len(stepsOf[kind]))](r)
		if next.do == "wait" {
			at += next.n
		}
		next.at = at
		s.steps = append(s.steps, next)
	}
	return s
}

func (c choice) draw(r *rand.Rand) setting {
	return setting{c.path, c.values[r.IntN(len(c.values))]}
}

func set(path string, values ...string) func(*rand.Rand) step {
	return func(r *rand.Rand) step { return step{do: "set", setting: choice{path, values}.draw(r)} }
}

func plain(do string) func(*rand.Rand) step {
	return func(*rand.Rand) step { return step{do: do} }
}

func pod(do string) func(*rand.Rand) step {
	return func(r *rand.Rand) step { return step{do: do, n: r.IntN(8)} }
}

func podSet(path string, values ...string) func(*rand.Rand) step {
	return func(r *rand.Rand) step {
		return step{do: "pod-set", n: r.IntN(8), setting: choice{path, values}.draw(r)}
	}
}
