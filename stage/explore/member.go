package explore

import (
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A memberObject is an object that belongs to a State; obj is nil if it existed at the start and is
// gone.
type memberObject struct {
	key     stage.Key
	obj     *unstructured.Unstructured
	resting bool
}

// normal is the object without the values that do not distinguish States; nil if it is gone.
func (m memberObject) normal() any {
	if m.obj == nil {
		return nil
	}
	return normal(m.obj.Object)
}

func (m memberObject) version() string {
	if m.obj == nil {
		return ""
	}
	return m.obj.GetResourceVersion()
}

// members returns the start object and the objects that differ from the beginning, in the order of
// their keys. An object that rested and has not changed since still rests.
func (x *explorer) members(ctx context.Context, c *memory.Cluster, before []memberObject) []memberObject {
	var members []memberObject
	present, rested := map[stage.Key]bool{}, byKey(before)
	for _, kind := range x.kinds {
		list, err := c.List(ctx, kind, "", metav1.ListOptions{})
		if err != nil {
			continue // a Stage applied an object of a kind that is not known, and failed
		}
		for i := range list.Items {
			m := memberObject{key: stage.KeyOf(&list.Items[i]), obj: &list.Items[i]}
			present[m.key] = true
			if m.key == x.start || m.version() != x.versions[m.key] {
				b := rested[m.key]
				m.resting = b.resting && b.version() == m.version()
				members = append(members, m)
			}
		}
	}
	for key := range x.versions {
		if !present[key] && key != x.start {
			members = append(members, memberObject{key: key})
		}
	}
	slices.SortFunc(members, func(a, b memberObject) int { return x.order(a.key, b.key) })
	return members
}

// order compares keys; the start object comes first.
func (x *explorer) order(a, b stage.Key) int {
	switch {
	case a == b:
		return 0
	case a == x.start:
		return -1
	case b == x.start:
		return 1
	}
	return strings.Compare(a.String()+a.Version, b.String()+b.Version)
}

func objectsOf(members []memberObject) (objects []Object) {
	for _, m := range members {
		if m.obj != nil {
			objects = append(objects, Object{Key: m.key, Object: m.obj, Resting: m.resting})
		}
	}
	return objects
}

// An outgoing is a Stage that matches in a State, and could lead out of it.
type outgoing struct {
	key        stage.Key
	obj        *unstructured.Unstructured
	candidate  stage.Candidate
	transition stage.Transition
	due        time.Time
}

// outgoingOf returns the Stages that match in a State, by object.
func (x *explorer) outgoingOf(p openState) (matching []outgoing) {
	for _, m := range p.members {
		if m.obj == nil || m.resting {
			continue
		}
		for _, c := range x.set.Candidates(m.obj, p.at) {
			matching = append(matching, outgoing{m.key, m.obj, c, c.Transition(0), c.Transition(0).Due})
		}
	}
	return matching
}

// latest is the same Stage with its greatest delay. It is false if there is only one possible
// delay.
func (e outgoing) latest() (outgoing, bool) {
	const greatest = ^uint64(0)
	e.transition = e.candidate.Transition(greatest)
	earliest := e.due
	e.due = e.transition.Due
	return e, e.due.After(earliest)
}

// sameOutgoing reports whether the same Stages match with the same chances and delays, apart from
// the rounding of times to seconds.
func sameOutgoing(a, b []outgoing) bool {
	return slices.EqualFunc(a, b, func(a, b outgoing) bool {
		return a.key == b.key && a.candidate.Stage == b.candidate.Stage && a.candidate.Probability == b.candidate.Probability &&
			near(a.candidate.Delay.Min, b.candidate.Delay.Min) && near(a.candidate.Delay.Max, b.candidate.Delay.Max)
	})
}

func near(a, b time.Duration) bool { return max(a-b, b-a) < time.Second }
