package stages_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube/stages"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

var (
	podKind   = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	stageKind = schema.GroupVersionKind{Group: "kwok.x-k8s.io", Version: "v1alpha1", Kind: "Stage"}
)

// A lab is a cluster in virtual time that plays the Stages in it.
type lab struct {
	*testing.T
	cluster  *memory.Cluster
	compile  stage.Options
	verdicts []stages.VersionStatus
	failures []error
	writes   atomic.Int64 // of statuses of Stages, by all players
}

// newLab begins with objects, in YAML.
func newLab(t *testing.T, manifest string) *lab {
	l := &lab{T: t}
	l.cluster = memory.New(memory.Options{Trace: func(r memory.Request) {
		if r.Subresource == "status" && r.Kind == stageKind {
			l.writes.Add(1)
		}
	}})
	require.NoError(t, l.cluster.Load(t.Context(), []byte(manifest)))
	return l
}

// play plays until the test ends, or the function is called that it returns.
func (l *lab) play() (stop func()) {
	ctx, cancel := context.WithCancel(l.Context())
	done := make(chan error, 1)
	go func() {
		done <- stages.Play(ctx, l.cluster, player.Options{}, stages.Options{
			Compile: l.compile,
			Trace:   func(v stages.VersionStatus) { l.verdicts = append(l.verdicts, v) },
			Failed:  func(err error) { l.failures = append(l.failures, err) },
		})
	}()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			require.ErrorIs(l.T, <-done, context.Canceled)
		})
	}
	l.Cleanup(stop)
	synctest.Wait()
	return stop
}

// used is a player that reports the Sets that it gets.
type used func(*stage.Set)

func (u used) Use(s *stage.Set) { u(s) }

// stageNamed is a Stage that brings Pods from one phase into another, after a delay.
func stageNamed(name, from, to string, delay time.Duration) string {
	return fmt.Sprintf(`{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: %s},
  spec: {resourceRef: {kind: Pod}, selector: {matchExpressions: [{jq: {key: .status.phase, operator: In, values: [%s]}}]},
		delay: {durationMilliseconds: %d}, steps: [{patch: {root: status, subresource: status, template: "phase: %s"}}]}}`, name, from, delay.Milliseconds(), to)
}

func object(t *testing.T, manifest string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(manifest), &u.Object))
	return u
}

func (l *lab) create(manifest string) {
	l.Helper()
	_, err := l.cluster.Create(l.Context(), object(l.T, manifest), metav1.CreateOptions{})
	require.NoError(l, err)
	synctest.Wait()
}

// change replaces the spec of a Stage with that of a manifest.
func (l *lab) change(manifest string) {
	l.Helper()
	next := object(l.T, manifest)
	obj := l.stage(next.GetName())
	obj.Object["spec"] = next.Object["spec"]
	_, err := l.cluster.Update(l.Context(), obj, metav1.UpdateOptions{})
	require.NoError(l, err)
	synctest.Wait()
}

func (l *lab) delete(name string) {
	require.NoError(l, l.cluster.Delete(l.Context(), stageKind, types.NamespacedName{Name: name}, metav1.DeleteOptions{}))
	synctest.Wait()
}

func (l *lab) stage(name string) *unstructured.Unstructured {
	l.Helper()
	obj, err := l.cluster.Get(l.Context(), stageKind, types.NamespacedName{Name: name})
	require.NoError(l, err)
	return obj
}

// condition prints the conditions of a Stage, one a line.
func (l *lab) condition(name string) string {
	l.Helper()
	conditions, _, err := unstructured.NestedSlice(l.stage(name).Object, "status", "conditions")
	require.NoError(l, err)
	var lines []string
	for _, c := range conditions {
		c := c.(map[string]any)
		lines = append(lines, fmt.Sprintf("%v=%v %v @%v %v", c["type"], c["status"], c["reason"], c["observedGeneration"], c["message"]))
	}
	return strings.Join(lines, "\n")
}

func (l *lab) phase(name string) string {
	l.Helper()
	pod, err := l.cluster.Get(l.Context(), podKind, types.NamespacedName{Namespace: "default", Name: name})
	require.NoError(l, err)
	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	return phase
}

// wait lets time pass, to just after the next due work.
func (l *lab) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

const pod = `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default},
  spec: {nodeName: n, containers: [{name: c, image: i}]}, status: {phase: Pending}}`

// bubble runs a test in virtual time on a cluster with the definition and a Pod.
func bubble(t *testing.T, test func(*testing.T, *lab)) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, stages.Definition()+"\n---\n"+pod)
		test(t, l)
	})
}

func TestStagesTakeEffectAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, l *lab) {
		l.play()
		l.create(stageNamed("run", "Pending", "Running", 0))
		require.Equal(t, "Running", l.phase("a"), "nothing happened to the Pod but that there is a Stage")
		require.Equal(t, "Accepted=True Compiled @1 ", l.condition("run"))
		l.create(stageNamed("end", "Running", "Succeeded", 0))
		require.Equal(t, "Succeeded", l.phase("a"))
		require.EqualValues(t, 2, l.writes.Load())
		require.Empty(t, l.failures)
	})
}

func TestUnchangedStagesKeepTheirDueTime(t *testing.T) {
	bubble(t, func(t *testing.T, l *lab) {
		l.create(stageNamed("run", "Pending", "Running", 10*time.Second))
		l.play()
		l.wait(9 * time.Second)
		l.create(stageNamed("end", "Running", "Succeeded", time.Second))
		l.create(strings.ReplaceAll(stageNamed("node", "x", "y", 0), "kind: Pod", "kind: Node"))
		l.wait(time.Second)
		require.Equal(t, "Running", l.phase("a"))
		l.wait(time.Second)
		require.Equal(t, "Succeeded", l.phase("a"))
	})
}

func TestChangedStagesBeginAnew(t *testing.T) {
	bubble(t, func(t *testing.T, l *lab) {
		l.create(stageNamed("run", "Pending", "Running", 10*time.Second))
		l.play()
		l.wait(9 * time.Second)
		l.change(stageNamed("run", "Pending", "Failed", 10*time.Second))
		l.wait(9 * time.Second)
		require.Equal(t, "Pending", l.phase("a"))
		l.wait(time.Second)
		require.Equal(t, "Failed", l.phase("a"))
	})
}

func TestDeletedStagesAreNotPlayed(t *testing.T) {
	bubble(t, func(t *testing.T, l *lab) {
		l.create(stageNamed("run", "Pending", "Running", 10*time.Second))
		l.create(stageNamed("other", "x", "y", 0))
		l.play()
		l.wait(9 * time.Second)
		l.delete("run")
		l.wait(time.Minute)
		require.Equal(t, "Pending", l.phase("a"))
		l.delete("other")
		l.create(stageNamed("run", "Pending", "Running", 0))
		require.Equal(t, "Running", l.phase("a"), "also after the last one was gone")
	})
}

// broken is a Stage whose jq program has a fault in its second line.
const broken = `{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: run},
  spec: {resourceRef: {kind: Pod}, selector: {matchExpressions: [{jq: {key: ".status\n| .phase |", operator: Exists}}]},
	weightFrom: {cel: {expression: "slf.x"}}, steps: [{patch: {root: status, template: "{{ .a"}}]}}`

func TestTheLastGoodVersionStaysInUse(t *testing.T) {
	bubble(t, func(t *testing.T, l *lab) {
		l.create(stageNamed("run", "Pending", "Running", 10*time.Second))
		l.play()
		l.wait(9 * time.Second)
		l.change(broken)
		require.Equal(t, "Accepted=False Invalid @2 spec.selector.matchExpressions[0].jq.key:2:11: unexpected EOF at line 2, column 11 of the program; spec.steps[0].patch.template:1:1: unclosed action; "+
			"spec.weightFrom.cel.expression:1:1: undeclared reference to 'slf'; generation 1 stays in use", l.condition("run"))
		l.wait(time.Second)
		require.Equal(t, "Running", l.phase("a"), "as if it had not been changed")

		l.change(stageNamed("run", "Running", "Succeeded", 0))
		require.Equal(t, "Succeeded", l.phase("a"))
		require.Equal(t, "Accepted=True Compiled @3 ", l.condition("run"))
		require.Equal(t, []int64{1, 1, 3}, []int64{l.verdicts[0].InUse, l.verdicts[1].InUse, l.verdicts[2].InUse})
		require.Equal(t, []bool{true, false, true}, []bool{l.verdicts[0].Accepted(), l.verdicts[1].Accepted(), l.verdicts[2].Accepted()})
		require.Len(t, l.verdicts, 3)
	})
}

func TestAFaultyStageDoesNotConcernTheOthers(t *testing.T) {
	bubble(t, func(t *testing.T, l *lab) {
		l.create(broken)
		l.create(stageNamed("works", "Pending", "Running", 0))
		l.play()
		require.Equal(t, "Running", l.phase("a"))
		require.Contains(t, l.condition("run"), "no version is in use")
		l.delete("run")
		l.create(stageNamed("run", "Running", "Failed", 0))
		require.Equal(t, "Failed", l.phase("a"))
	})
}

// TestAnotherStageOfTheNameHasNoLastVersion deletes and creates a Stage while no client watches.
func TestAnotherStageOfTheNameHasNoLastVersion(t *testing.T) {
	sets := 0
	c := stages.Controller(used(func(*stage.Set) { sets++ }), stages.Options{})
	cluster := memory.New(memory.Options{})
	require.NoError(t, cluster.Load(t.Context(), []byte(stages.Definition()+"\n---\n"+stageNamed("run", "a", "b", 0))))
	look := func() {
		loop := reconcile.NewLoop(cluster, reconcile.Options{}, c)
		list, err := cluster.List(t.Context(), stageKind, "", metav1.ListOptions{})
		require.NoError(t, err)
		for i := range list.Items {
			loop.Observe(watch.Event{Type: watch.Added, Object: &list.Items[i]}, time.Unix(0, 0))
		}
		for loop.Step(t.Context(), time.Unix(0, 0)) {
		}
	}
	look()
	require.Equal(t, 1, sets)
	require.NoError(t, cluster.Delete(t.Context(), stageKind, types.NamespacedName{Name: "run"}, metav1.DeleteOptions{}))
	_, err := cluster.Create(t.Context(), object(t, broken), metav1.CreateOptions{})
	require.NoError(t, err)
	look()
	require.Equal(t, 2, sets)
}

func TestStatusesAreWrittenWhenTheyChange(t *testing.T) {
	bubble(t, func(t *testing.T, l *lab) {
		l.create(stageNamed("run", "x", "y", 0))
		other := map[string]any{"type": "Seen", "status": "True", "reason": "Yes", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": int64(7)}
		obj := l.stage("run")
		obj.Object["status"] = map[string]any{"conditions": []any{other}}
		_, err := l.cluster.Update(t.Context(), obj, metav1.UpdateOptions{}, "status")
		require.NoError(t, err)
		l.writes.Store(0)

		stop := l.play()
		require.Equal(t, "Seen=True Yes @7 \nAccepted=True Compiled @1 ", l.condition("run"), "the conditions of others stay")
		since := func() any {
			conditions, _, _ := unstructured.NestedSlice(l.stage("run").Object, "status", "conditions")
			return conditions[1].(map[string]any)["lastTransitionTime"]
		}
		began := since()
		l.wait(time.Minute)
		l.change(stageNamed("run", "x", "z", 0))
		require.Equal(t, "Seen=True Yes @7 \nAccepted=True Compiled @2 ", l.condition("run"))
		require.Equal(t, began, since(), "it was accepted all the time")
		require.EqualValues(t, 2, l.writes.Load())

		stop()
		l.play()
		l.wait(time.Minute)
		require.EqualValues(t, 2, l.writes.Load(), "another program finds what is written")
		l.change(broken)
		require.NotEqual(t, began, since())
		require.EqualValues(t, 3, l.writes.Load())
	})
}

func TestReplicasWithOtherLastVersionsTellOnce(t *testing.T) {
	bubble(t, func(t *testing.T, l *lab) {
		l.create(stageNamed("s", "Pending", "Running", 0))
		l.play()
		l.wait(time.Second)
		l.change(stageNamed("s", "Pending", "{{", 0))
		l.wait(time.Second)
		require.Contains(t, l.condition("s"), "generation 1 stays in use")
		l.writes.Store(0)
		(&lab{T: t, cluster: l.cluster}).play() // a replica that has never seen the first version
		l.wait(time.Minute)
		require.Contains(t, l.condition("s"), "no version is in use")
		require.EqualValues(t, 1, l.writes.Load())
		l.change(stageNamed("s", "Pending", "Failed", 0))
		l.wait(time.Second)
		require.Equal(t, "Accepted=True Compiled @3 ", l.condition("s"))
	})
}

func TestManyStagesAreCompiledTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, stages.Definition())
		for i := range 50 {
			l.create(stageNamed(fmt.Sprintf("s%02d", i), "x", "y", 0))
		}
		var sets []*stage.Set
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- stages.Follow(ctx, l.cluster, used(func(s *stage.Set) { sets = append(sets, s) }), stages.Options{})
		}()
		synctest.Wait()
		require.Len(t, sets, 1)
		require.Len(t, sets[0].Stages(podKind), 50)
		require.EqualValues(t, 50, l.writes.Load())
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
}

func TestTheDefinitionMayComeLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, pod)
		l.play()
		l.wait(time.Minute)
		require.NotEmpty(t, l.failures)
		require.NoError(t, l.cluster.Load(t.Context(), []byte(stages.Definition())))
		l.create(stageNamed("run", "Pending", "Running", 0))
		l.wait(time.Minute)
		require.Equal(t, "Running", l.phase("a"))
	})
}

// busy is a cluster in which somebody else is faster, a few times.
type busy struct {
	*memory.Cluster
	conflicts int
}

func (b *busy) Patch(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	if b.conflicts > 0 {
		b.conflicts--
		label := fmt.Appendf(nil, `{"metadata": {"labels": {"n": "%d"}}}`, b.conflicts)
		if _, err := b.Cluster.Patch(ctx, kind, name, types.MergePatchType, label, o); err != nil {
			return nil, err
		}
	}
	return b.Cluster.Patch(ctx, kind, name, t, data, o, sub...)
}

func TestConflictsAreResolved(t *testing.T) {
	bubble(t, func(t *testing.T, l *lab) {
		l.create(stageNamed("run", "x", "y", 0))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- stages.Follow(ctx, &busy{l.cluster, 3}, used(func(*stage.Set) {}), stages.Options{Failed: func(err error) { l.failures = append(l.failures, err) }})
		}()
		l.wait(time.Minute)
		require.Equal(t, "Accepted=True Compiled @1 ", l.condition("run"))
		require.Len(t, l.failures, 3)
		for _, err := range l.failures {
			require.True(t, apierrors.IsConflict(err), "%v", err)
		}
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
}
