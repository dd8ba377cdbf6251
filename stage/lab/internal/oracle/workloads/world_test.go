package workloads

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

//go:embed testdata/stages.yaml
var stages []byte

const (
	tick      = 500 * time.Millisecond
	offset    = 450 * time.Millisecond // of the ticks
	quiet     = 40 * time.Millisecond  // after a tick; a change counts if nothing else changes within this time
	stepAt    = 100 * time.Millisecond // of the first step of a scenario in its second
	collectBy = time.Millisecond       // how long the garbage collector takes for an object
	stepBy    = 3 * time.Millisecond   // how much later the next one is, so that no step is just when another one has been gathered
)

var (
	podKind        = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	nodeKind       = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	eventKind      = schema.GroupVersionKind{Version: "v1", Kind: "Event"}
	deploymentKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	replicaSetKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
	statefulKind   = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	daemonKind     = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"}
	revisionKind   = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ControllerRevision"}
	jobKind        = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	cronJobKind    = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}
	claimKind      = schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}
)

// A world is a cluster in a bubble, with Stages and controllers, in which a scenario is played.
type world struct {
	t       *testing.T
	ctx     context.Context
	cluster *memory.Cluster
	s       scenario
	start   time.Time
	history *history
	quota   atomic.Int64   // the limit of the number of Pods; negative: no limit
	daemons map[string]int // how many Pods of DaemonSets were created for a Node
}

// play plays a scenario with the controllers that run starts. They have to end with the context of
// the world, and their end is waited for.
func play(t *testing.T, s scenario, run func(*world, *sync.WaitGroup)) (h *history) {
	set, err := stage.Compile(stage.Options{Funcs: map[string]any{"node": nodeOf, "code": exitCode, "ready": isReady, "restarts": restarts, "second": second}}, stage.Parse("stages.yaml", stages))
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		w := &world{t: t, ctx: ctx, s: s, start: time.Now(), daemons: map[string]int{}, cluster: memory.New(memory.Options{Seed: 1, Now: time.Now, LateCollection: true})}
		w.quota.Store(-1)
		require.NoError(t, w.cluster.Load(ctx, []byte("{apiVersion: v1, kind: Namespace, metadata: {name: default}}")))
		w.history = newHistory(w)
		var all sync.WaitGroup
		w.collect(&all)
		all.Go(func() { _ = player.Play(ctx, set, w.cluster, player.Options{Workers: 2}) })
		run(w, &all)
		synctest.Wait()
		w.play()
		h = w.history
		cancel()
		all.Wait()
		time.Sleep(2 * time.Hour) // timers of the controllers
	})
	return h
}

// collect makes the garbage collector look at one object after another after a change.
func (w *world) collect(all *sync.WaitGroup) {
	changed := make(chan struct{}, 1)
	for _, kind := range []schema.GroupVersionKind{deploymentKind, replicaSetKind, statefulKind, daemonKind, jobKind, cronJobKind, podKind, revisionKind, claimKind} {
		changes, err := w.cluster.Watch(w.ctx, kind, "", metav1.ListOptions{})
		require.NoError(w.t, err)
		all.Go(func() {
			for range changes.ResultChan() {
				select {
				case changed <- struct{}{}:
				default:
				}
			}
		})
	}
	all.Go(func() { w.collectAfter(changed) })
}

func (w *world) collectAfter(changed <-chan struct{}) {
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-changed:
		}
		for _, waits := w.cluster.Uncollected(); waits; _, waits = w.cluster.Uncollected() {
			time.Sleep(collectBy)
			w.cluster.Collect()
		}
	}
}

// play carries out the steps of the scenario and records the changes.
func (w *world) play() {
	done := 0
	for at := stepAt; at < w.s.length(); {
		next := w.s.time(done)
		if next <= at {
			w.do(w.s.steps[done])
			done++
			continue
		}
		next = min(next, nextTick(at))
		time.Sleep(next - time.Since(w.start))
		synctest.Wait()
		at = next
		if (at-offset)%tick == 0 {
			w.history.take()
			time.Sleep(quiet)
			synctest.Wait()
			w.history.read(at)
		}
	}
}

// time returns when a step is carried out, or never without a time.
func (s scenario) time(step int) time.Duration {
	if step >= len(s.steps) {
		return math.MaxInt64
	}
	return time.Duration(s.steps[step].at)*time.Second + stepAt + time.Duration(step)*stepBy
}

func nextTick(at time.Duration) time.Duration {
	next := at - (at-offset)%tick + tick
	if at < offset {
		next = offset
	}
	return next
}

func (w *world) get(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	obj, err := w.cluster.Get(w.ctx, kind, types.NamespacedName{Namespace: "default", Name: name})
	if err != nil {
		return nil
	}
	return obj
}

// create creates an object as an API server does: with defaults, and a Job with a selector.
func (w *world) create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	obj = defaulted(obj)
	if err := w.admit(obj); err != nil {
		return nil, err
	}
	w.nameDaemon(obj)
	if obj.GroupVersionKind() == jobKind {
		dry, err := w.cluster.Create(ctx, obj, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return nil, err
		}
		selectByUID(obj, string(dry.GetUID()))
	}
	created, err := w.cluster.Create(ctx, obj, o)
	if obj.GetKind() == "Event" && apierrors.IsAlreadyExists(err) { // its name is the time, and in a bubble time stops
		obj.SetName(obj.GetName() + "0")
		return w.create(ctx, obj, o)
	}
	return created, err
}

// admit refuses Pods beyond a quota.
func (w *world) admit(obj *unstructured.Unstructured) error {
	most := w.quota.Load()
	if obj.GetKind() != "Pod" || most < 0 {
		return nil
	}
	list, err := w.cluster.List(w.ctx, podKind, "default", metav1.ListOptions{})
	if err != nil {
		return err
	}
	used := int64(0)
	for _, pod := range list.Items {
		if phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase"); phase != "Failed" && phase != "Succeeded" {
			used++
		}
	}
	if used < most {
		return nil
	}
	name := cmp.Or(obj.GetName(), obj.GetGenerateName()+"xxxxx")
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, name, fmt.Errorf("exceeded quota: q, requested: pods=1, used: pods=%d, limited: pods=%d", used, most))
}

// nameDaemon names a Pod of a DaemonSet by its Node: the order in which theirs creates them is random,
// and uids depend on names.
func (w *world) nameDaemon(pod *unstructured.Unstructured) {
	if node := requiredNode(pod.Object); pod.GetKind() == "Pod" && pod.GetName() == "" && node != "" {
		w.daemons[node]++
		pod.SetName(fmt.Sprintf("%s%s%03d", pod.GetGenerateName(), node, w.daemons[node]))
	}
}

func selectByUID(job *unstructured.Unstructured, uid string) {
	labels, _, _ := unstructured.NestedStringMap(job.Object, "spec", "template", "metadata", "labels")
	if labels == nil {
		labels = map[string]string{}
	}
	for _, prefix := range []string{"", "batch.kubernetes.io/"} {
		labels[prefix+"controller-uid"], labels[prefix+"job-name"] = uid, job.GetName()
	}
	_ = unstructured.SetNestedStringMap(job.Object, labels, "spec", "template", "metadata", "labels")
	_ = unstructured.SetNestedStringMap(job.Object, map[string]string{"batch.kubernetes.io/controller-uid": uid}, "spec", "selector", "matchLabels")
}

// defaulted returns an object with the defaults of an API server, in the form that Go types give it.
func defaulted(obj *unstructured.Unstructured) *unstructured.Unstructured {
	typed, err := legacyscheme.Scheme.New(obj.GroupVersionKind())
	if err != nil {
		return obj
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, typed); err != nil {
		panic(err)
	}
	legacyscheme.Scheme.Default(typed)
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		panic(err)
	}
	u := &unstructured.Unstructured{Object: raw}
	u.SetGroupVersionKind(obj.GroupVersionKind())
	return u
}

// nodeOf is the Node of a Pod: the Node of its affinity, as for a DaemonSet, or one of three Nodes,
// by its uid.
func nodeOf(pod map[string]any) string {
	return cmp.Or(requiredNode(pod), []string{"n1", "n2", "n3"}[number(pod)%3])
}

// requiredNode is the Node in the affinity of a Pod, or "".
func requiredNode(pod map[string]any) string {
	terms, _, _ := unstructured.NestedSlice(pod, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
	for _, term := range terms {
		fields, _, _ := unstructured.NestedSlice(term.(map[string]any), "matchFields")
		for _, field := range fields {
			names, _, _ := unstructured.NestedStringSlice(field.(map[string]any), "values")
			return names[0]
		}
	}
	return ""
}

// restarts is how often the container of a Pod was restarted. It is the number in an annotation, or
// a few where this makes a Job fail, or else a number that distinguishes the Pod from others.
func restarts(pod map[string]any) int {
	policy, _, _ := unstructured.NestedString(pod, "spec", "restartPolicy")
	switch text := annotation(pod, "play/restarts"); {
	case text != "":
		n, err := strconv.Atoi(text)
		if err != nil {
			panic(err)
		}
		return n
	case policy == "OnFailure":
		return number(pod) % 3
	}
	return number(pod)
}

// number is a number that almost certainly no other Pod has.
func number(pod map[string]any) int {
	uid, _, _ := unstructured.NestedString(pod, "metadata", "uid")
	h := fnv.New32a()
	h.Write([]byte(uid))
	return int(h.Sum32() % 100_000)
}

// second returns a time without fractions, as a kubelet writes it.
func second(at string) string {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		panic(err)
	}
	return t.Format(time.RFC3339)
}

func annotation(pod map[string]any, name string) string {
	text, _, _ := unstructured.NestedString(pod, "metadata", "annotations", name)
	return text
}

// exitCode returns the exit code in an annotation. An annotation for one index comes first.
func exitCode(pod map[string]any) int {
	code := cmp.Or(annotation(pod, "play/code-"+annotation(pod, "batch.kubernetes.io/job-completion-index")), annotation(pod, "play/code"))
	if code == "" || code == "0" {
		return 0
	}
	return int(code[0] - '0')
}

func isReady(pod map[string]any) string {
	if annotation(pod, "play/unready") != "" {
		return "False"
	}
	return "True"
}
