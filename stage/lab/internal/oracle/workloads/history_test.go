package workloads

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A history is the changes from tick to tick.
type history struct {
	feeds     []*memory.Feed
	pods      map[string]*unstructured.Unstructured // objects with generated names, by name
	changed   map[string]string                     // since the last tick
	states    map[string]string
	unsettled map[time.Duration]bool                // ticks that do not count
	events    map[string]*unstructured.Unstructured // by name
	lines     []line
	hashes    map[string][]string // of ReplicaSets and revisions, by owner, in the order of creation
}

// A line is a state of an object that is new at a tick, "" if it is gone.
type line struct {
	at          time.Duration
	name, state string
}

func newHistory(w *world) *history {
	h := &history{pods: map[string]*unstructured.Unstructured{}, changed: map[string]string{}, unsettled: map[time.Duration]bool{}, states: map[string]string{}, events: map[string]*unstructured.Unstructured{}, hashes: map[string][]string{}}
	for _, kind := range []schema.GroupVersionKind{deploymentKind, replicaSetKind, statefulKind, daemonKind, revisionKind, jobKind, cronJobKind, claimKind, podKind, eventKind} {
		feed, err := w.cluster.Shared().Feed(kind, "", metav1.ListOptions{})
		require.NoError(w.t, err)
		h.feeds = append(h.feeds, feed)
	}
	return h
}

// take records the changes, and reports whether there was one.
func (h *history) take() (changed bool) {
	for _, feed := range h.feeds {
		for e, ok := feed.Next(); ok; e, ok = feed.Next() {
			changed = true
			obj := e.Object.(*unstructured.Unstructured)
			switch {
			case obj.GetKind() == "Event":
				h.events[obj.GetName()] = obj
			case isGenerated(obj):
				if h.pods[obj.GetName()] = obj; e.Type == watch.Deleted {
					delete(h.pods, obj.GetName())
				}
			default:
				h.noteHash(e.Type, obj)
				h.changed[obj.GetKind()+" "+obj.GetName()] = state(e.Type, obj)
			}
		}
	}
	return changed
}

// read notes the states of a tick. Where something has changed in the time since the tick, it is
// left to the milliseconds that things take whether that was before it.
func (h *history) read(at time.Duration) {
	if h.take() {
		h.unsettled[at] = true
	}
	now := h.changed
	h.changed = map[string]string{}
	maps.Copy(now, h.summary())
	maps.Copy(now, h.crowds())
	for name := range h.states {
		if _, still := now[name]; !still && strings.HasPrefix(name, "Pods ") {
			now[name] = ""
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if state := now[name]; h.states[name] != state {
			h.states[name] = state
			h.lines = append(h.lines, line{at, name, state})
		}
	}
}

func (h *history) noteHash(t watch.EventType, obj *unstructured.Unstructured) {
	if t != watch.Added || obj.GetKind() != "ReplicaSet" && obj.GetKind() != "ControllerRevision" {
		return
	}
	if i := strings.LastIndex(obj.GetName(), "-"); i >= 0 {
		owner := obj.GetKind() + " " + obj.GetName()[:i]
		if hash := obj.GetName()[i+1:]; !slices.Contains(h.hashes[owner], hash) {
			h.hashes[owner] = append(h.hashes[owner], hash)
		}
	}
}

// state returns the compared part of an object: everything except versions and times of managed
// fields.
func state(t watch.EventType, obj *unstructured.Unstructured) string {
	if t == watch.Deleted {
		return ""
	}
	u := defaulted(obj)
	for _, field := range []string{"resourceVersion", "managedFields"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	ignore(u)
	data, err := json.MarshalIndent(u.Object, "", "  ")
	if err != nil {
		panic(err)
	}
	return string(data)
}

// isGenerated reports whether an object is a Pod whose name was generated.
func isGenerated(obj *unstructured.Unstructured) bool {
	return obj.GetKind() == "Pod" && obj.GetGenerateName() != "" && len(obj.GetName()) == len(obj.GetGenerateName())+5
}

// crowds are the Pods with generated names, by their prefix, without the fields that distinguish
// Pods in the same state: Kubernetes deletes a random one of them.
func (h *history) crowds() map[string]string {
	all := map[string][]string{}
	for _, pod := range h.pods {
		name := "Pods " + pod.GetGenerateName()
		all[name] = append(all[name], anonymous(pod))
	}
	texts := map[string]string{}
	for name, states := range all {
		slices.Sort(states)
		texts[name] = strings.Join(states, "\n")
	}
	return texts
}

// generated is the end of a generated name.
var generated = regexp.MustCompile(`-[a-z0-9]{5}\b`)

// summary identifies Events by everything except their own names and the generated names in their
// messages, whose order depends on goroutines.
func (h *history) summary() map[string]string {
	counts, combined := map[string][]string{}, map[string]bool{}
	for _, e := range h.events {
		text := func(path ...string) string {
			v, _, _ := unstructured.NestedString(e.Object, path...)
			return v
		}
		if isHaste(text("reason"), text("message")) {
			continue
		}
		name := fmt.Sprintf("Event %s %s %s %s: %s", text("involvedObject", "kind"), generated.ReplaceAllString(text("involvedObject", "name"), "-*"),
			text("type"), text("reason"), generated.ReplaceAllString(text("message"), "-*"))
		n, _, _ := unstructured.NestedInt64(e.Object, "count")
		times := fmt.Sprintf("%dx %s to %s", n, text("firstTimestamp"), text("lastTimestamp"))
		if uncounted[text("reason")] {
			times = "since " + text("firstTimestamp")
		}
		if strings.HasPrefix(text("message"), combinedPrefix) {
			combined[subject(name)] = true
		}
		counts[name] = append(counts[name], fmt.Sprintf("%s by %s (%s, %s) in %s of %s", times, text("source", "component"), text("reportingComponent"), text("reportingInstance"),
			e.GetNamespace(), text("involvedObject", "apiVersion")))
	}
	states := map[string]string{}
	for name, all := range counts {
		if combined[subject(name)] {
			continue
		}
		slices.Sort(all)
		states[name] = strings.Join(all, "\n")
	}
	return states
}
