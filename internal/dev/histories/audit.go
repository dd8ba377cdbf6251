package histories

import (
	"context"
	"fmt"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// An audit watches the cluster itself, without faults, and notes what is wrong.
type audit struct {
	states watch.Interface
	done   sync.WaitGroup

	mu    sync.Mutex
	phase map[types.UID]int // that a Pod has reached
	wrong []string
}

func newAudit(c *memory.Cluster) *audit {
	a := &audit{phase: map[types.UID]int{}}
	var err error
	if a.states, err = c.Watch(context.Background(), podKind, "", metav1.ListOptions{}); err != nil {
		panic(err) // a new cluster has Pods
	}
	a.done.Go(func() {
		for e := range a.states.ResultChan() {
			if obj, ok := e.Object.(*unstructured.Unstructured); ok && e.Type != watch.Bookmark {
				a.see(obj)
			}
		}
	})
	return a
}

func (a *audit) close() {
	a.states.Stop()
	a.done.Wait()
}

func (a *audit) note(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wrong = append(a.wrong, fmt.Sprintf(format, args...))
}

// see checks one state of a Pod: it goes from each phase to the next, and nothing is appended twice.
func (a *audit) see(obj *unstructured.Unstructured) {
	s := stateOf(obj)
	for key, text := range obj.GetAnnotations() {
		if strings.HasPrefix(key, "m") && text != "x" {
			a.note("%s: the annotation %s is %q: it was appended twice", obj.GetName(), key, text)
		}
	}
	a.mu.Lock()
	last, known := a.phase[obj.GetUID()]
	a.phase[obj.GetUID()] = s.phase
	a.mu.Unlock()
	if known && (s.phase < last || s.phase > last+1) {
		a.note("%s: from phase %d to phase %d", obj.GetName(), last, s.phase)
	}
}

// A state is what the Stages have made of a Pod.
type state struct {
	phase int
	count int64
	log   string
}

func stateOf(obj *unstructured.Unstructured) state {
	var s state
	text, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
	_, _ = fmt.Sscanf(text, "p%d", &s.phase) // Pending is 0
	s.count, _, _ = unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
	s.log, _, _ = unstructured.NestedString(obj.Object, "status", "message")
	return s
}

// end checks that the Pods have gone through all Stages.
func (a *audit) end(c *memory.Cluster, pods int) {
	want := state{phase: phases, count: phases}
	for i := range phases {
		want.log += fmt.Sprintf("%d,", i)
	}
	list, err := c.List(context.Background(), podKind, "", metav1.ListOptions{})
	if err != nil || len(list.Items) != pods {
		a.note("there are %d Pods of %d: %v", len(list.Items), pods, err)
		return
	}
	events := a.events(c)
	for i := range list.Items {
		pod := &list.Items[i]
		if got := stateOf(pod); got != want || pod.GetDeletionTimestamp() != nil {
			a.note("%s ended with %+v, deleted %v", pod.GetName(), got, pod.GetDeletionTimestamp())
		}
		for phase := range phases {
			a.effects(c, pod, phase, events)
		}
	}
	for id, n := range events {
		if n > 1 {
			a.note("%s: %d Events, or occurrences of one", id, n)
		}
	}
}

// effects checks what a Stage has made besides the status.
func (a *audit) effects(c *memory.Cluster, pod *unstructured.Unstructured, phase int, events map[string]int64) {
	if text := pod.GetAnnotations()[fmt.Sprintf("m%d", phase)]; text != "x" {
		a.note("%s: the annotation m%d is %q", pod.GetName(), phase, text)
	}
	child := types.NamespacedName{Namespace: "default", Name: fmt.Sprintf("%s-%d", pod.GetUID(), phase)}
	if _, err := c.Get(context.Background(), childKind, child); err != nil {
		a.note("%s: the ConfigMap of phase %d: %v", pod.GetName(), phase, err)
	}
	if events[eventID(string(pod.GetUID()), fmt.Sprintf("R%d", phase))] == 0 {
		a.note("%s: no Event of phase %d", pod.GetName(), phase)
	}
}

func eventID(uid, reason string) string { return uid + " " + reason }

// events counts the Events by the Pod and the reason.
func (a *audit) events(c *memory.Cluster) map[string]int64 {
	list, err := c.List(context.Background(), eventKind, "", metav1.ListOptions{})
	if err != nil {
		a.note("list Events: %v", err)
		return nil
	}
	n := map[string]int64{}
	for _, e := range list.Items {
		uid, _, _ := unstructured.NestedString(e.Object, "involvedObject", "uid")
		reason, _, _ := unstructured.NestedString(e.Object, "reason")
		count, _, _ := unstructured.NestedInt64(e.Object, "series", "count")
		n[eventID(uid, reason)] += max(count, 1)
	}
	return n
}
