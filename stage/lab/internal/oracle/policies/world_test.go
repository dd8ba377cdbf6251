package policies

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/admission"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

const (
	tick   = time.Second
	offset = 450 * time.Millisecond // of the ticks
	stepAt = 100 * time.Millisecond // of the first step of a scenario in its second
	stepBy = 3 * time.Millisecond   // how much later the next one is
)

// A world is a cluster in a bubble, with controllers, in which a scenario is played.
type world struct {
	ctx     context.Context
	cluster *memory.Cluster
	start   time.Time
	states  map[string]string // at the last tick
	lines   []string          // the changes, and the answers to steps
	removes bool              // a step removes a Pod
}

// play plays a scenario with the controllers that run starts. They have to end with the context of
// the world, and their end is waited for.
func play(t *testing.T, s scenario, run func(*world, *sync.WaitGroup)) (lines []string) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		w := &world{ctx: ctx, start: time.Now(), states: map[string]string{}}
		w.cluster = memory.New(memory.Options{Seed: 1, Now: time.Now})
		w.cluster.Extend(admission.Hooks())
		require.NoError(t, w.cluster.Load(ctx, []byte("{apiVersion: v1, kind: Namespace, metadata: {name: default}}")))
		for _, before := range s.setup {
			require.NoError(t, w.do(before))
		}
		var all sync.WaitGroup
		run(w, &all)
		synctest.Wait()
		w.play(s)
		lines = w.lines
		cancel()
		all.Wait()
		time.Sleep(2 * time.Hour) // timers of the controllers
	})
	return lines
}

// play carries out the steps of the scenario and records the changes.
func (w *world) play(s scenario) {
	steps := s.steps
	w.removes = slices.ContainsFunc(steps, func(s step) bool { return s.do == "remove" })
	for at := offset; at < s.length; at += tick {
		for len(steps) > 0 && steps[0].at < at {
			w.sleepUntil(steps[0].at)
			if err := w.do(steps[0]); err != nil {
				w.lines = append(w.lines, fmt.Sprintf("%.3f %s: %v", steps[0].at.Seconds(), steps[0], err))
			}
			steps = steps[1:]
			synctest.Wait()
		}
		w.sleepUntil(at)
		synctest.Wait()
		w.note(at, s.kinds)
	}
}

func (w *world) sleepUntil(at time.Duration) { time.Sleep(at - time.Since(w.start)) }

// do carries out a step.
func (w *world) do(s step) (err error) {
	name := types.NamespacedName{Namespace: "default", Name: s.name}
	if s.kind == nodeKind || s.kind == volumeKind {
		name.Namespace = ""
	}
	switch s.do {
	case "create":
		_, err = w.cluster.Create(w.ctx, w.object(s), metav1.CreateOptions{})
	case "patch":
		_, err = w.cluster.Patch(w.ctx, s.kind, name, types.MergePatchType, s.json(), metav1.PatchOptions{})
	case "status":
		_, err = w.cluster.Patch(w.ctx, s.kind, name, types.MergePatchType, s.json(), metav1.PatchOptions{}, "status")
	case "delete":
		err = w.cluster.Delete(w.ctx, s.kind, name, metav1.DeleteOptions{})
	case "remove":
		err = w.cluster.Delete(w.ctx, s.kind, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	case "evict":
		err = w.cluster.Evict(w.ctx, name, metav1.DeleteOptions{})
	default:
		panic(s.do)
	}
	return err
}

// object returns the object that a step creates. The uids of owners are those of existing objects
// with their names.
func (w *world) object(s step) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(s.body), &u.Object); err != nil {
		panic(err)
	}
	u.Object = integers(u.Object).(map[string]any)
	u.SetGroupVersionKind(s.kind)
	u.SetName(s.name)
	if s.kind != nodeKind && s.kind != volumeKind {
		u.SetNamespace("default")
	}
	owners := u.GetOwnerReferences()
	for i, o := range owners {
		owners[i].UID = "unknown"
		if owner, err := w.cluster.Get(w.ctx, schema.FromAPIVersionAndKind(o.APIVersion, o.Kind), types.NamespacedName{Namespace: "default", Name: o.Name}); err == nil {
			owners[i].UID = owner.GetUID()
		}
	}
	if len(owners) > 0 {
		u.SetOwnerReferences(owners)
	}
	return u
}

// integers has whole numbers as an API server has them.
func integers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = integers(x)
		}
	case []any:
		for i, x := range v {
			v[i] = integers(x)
		}
	case float64:
		return int64(v)
	}
	return v
}

// create creates an object for a controller. The name of an Event is the time, and in a bubble time
// stops.
func (w *world) create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	created, err := w.cluster.Create(ctx, obj, o)
	if obj.GetKind() == "Event" && apierrors.IsAlreadyExists(err) {
		obj.SetName(obj.GetName() + "0")
		return w.create(ctx, obj, o)
	}
	return created, err
}

// note adds the changes since the last tick.
func (w *world) note(at time.Duration, kinds []schema.GroupVersionKind) {
	now := map[string]string{}
	for _, kind := range append(kinds, eventKind) {
		list, err := w.cluster.List(w.ctx, kind, "", metav1.ListOptions{})
		if err != nil {
			panic(err)
		}
		for _, obj := range list.Items {
			if kind == eventKind {
				w.noteEvent(now, obj.Object)
				continue
			}
			now[kind.Kind+" "+obj.GetName()] = state(obj)
		}
	}
	names := slices.Sorted(maps.Keys(now))
	for name := range w.states {
		if _, still := now[name]; !still {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if now[name] != w.states[name] {
			w.lines = append(w.lines, fmt.Sprintf("%.2f %s: %s", at.Seconds(), name, now[name]))
		}
	}
	w.states = now
}

// noteEvent identifies Events by everything except their names. It does not count Events of a
// budget where the errors of several Pods take turns, because each turn causes the next. It also
// does not count them where Pods are removed: chance decides whether theirs looks between the two
// changes of a removal.
func (w *world) noteEvent(states map[string]string, e map[string]any) {
	text := func(path ...string) string {
		v, _, _ := unstructured.NestedFieldNoCopy(e, path...)
		return fmt.Sprint(v)
	}
	name := fmt.Sprintf("Event %s %s %s %s: %s", text("involvedObject", "kind"), text("involvedObject", "name"),
		text("type"), text("reason"), anyPod.ReplaceAllString(text("message"), "Pod without scale"))
	one := fmt.Sprintf("%sx %s to %s by %s (%s) about %s in %s", text("count"), text("firstTimestamp"), text("lastTimestamp"), text("source", "component"),
		text("reportingComponent"), text("involvedObject", "uid"), text("metadata", "namespace"))
	if reason := text("reason"); reason == "CalculateExpectedPodCountFailed" || w.removes && (reason == "UnmanagedPods" || reason == "NoPods") {
		states[name] = "some"
		return
	}
	all := append(strings.Split(states[name], "\n"), one)
	slices.Sort(all)
	states[name] = strings.TrimSpace(strings.Join(all, "\n"))
}

// state returns the compared part of an object: everything except its version, managed fields and
// nulls, as an API server reads it.
func state(obj unstructured.Unstructured) string {
	u := obj.DeepCopy()
	for _, field := range []string{"resourceVersion", "managedFields"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	data, err := json.Marshal(withoutNulls(u.Object))
	if err != nil {
		panic(err)
	}
	return anyPod.ReplaceAllString(string(data), "Pod without scale")
}

// anyPod is the message of the Kubernetes controller about the first Pod whose controller has no
// scale, in the order of a Go map.
var anyPod = regexp.MustCompile(`found no controllers for pod \\?"p\d\\?"|jobs.batch does not implement the scale subresource`)

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if v[k] = withoutNulls(x); x == nil {
				delete(v, k)
			}
		}
	case []any:
		for i, x := range v {
			v[i] = withoutNulls(x)
		}
	}
	return v
}
