package scheduling

import (
	"reflect"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// failures remember which Pods fit nowhere, and why, while nothing changes that decides about it. Pods of
// a class, which are equal in all that plugins read, then fail alike: of hundreds of Pods that wait, a few
// are looked at after a change. kube-scheduler 1.35 has the same idea. Only plugins of this package are
// known to read no more than the class has.
type failures struct {
	off     bool // a plugin is not of this package
	changes uint64
	known   map[string]unfit
	during  state // in which the failures are known
}

// A state is a state of what filters read: Nodes with their Pods, the other objects, and the time.
type state struct {
	changes uint64
	at      time.Time
}

// unfit is why a Pod fits nowhere.
type unfit struct {
	message   string
	rejecters []string
	keep      bool // its nominated Node
	advance   int  // how many Nodes were looked at
}

func newFailures(p Profile) *failures {
	f := &failures{}
	ours := reflect.TypeFor[failures]().PkgPath()
	for _, plugin := range p.Plugins {
		f.off = f.off || reflect.TypeOf(plugin).PkgPath() != ours
	}
	return f
}

// changed takes in that something has changed that filters read.
func (f *failures) changed() { f.changes++ }

// find returns why Pods of a class fit nowhere, if the present state has shown it.
func (f *failures) find(class string, now time.Time) (unfit, bool) {
	known, is := f.known[class]
	return known, is && f.are(now)
}

// are reports whether there are failures in the present state.
func (f *failures) are(now time.Time) bool {
	return len(f.known) > 0 && f.during == state{f.changes, now}
}

func (f *failures) remember(class string, now time.Time, u unfit) {
	if class == "" {
		return
	}
	if !f.are(now) {
		f.known, f.during = map[string]unfit{}, state{f.changes, now}
	}
	f.known[class] = u
}

// classOf returns the class of a Pod. It is "" if the Pod can differ from all others: if it has claims,
// whose names can depend on the Pod's name, if room is being made for Pods, or if a plugin is unknown.
func (s *scheduler) classOf(p *PodInfo) string {
	if s.failures.off || len(p.claims) > 0 || len(s.nominated) > 0 || p.nominatedNode() != "" {
		return ""
	}
	if p.class == "" {
		p.class = class(p)
	}
	return p.class
}

// class is equal for Pods that are equal in all that filters read.
func class(p *PodInfo) string {
	spec, err := object.AppendJSON(nil, fields.Map(p.Pod.Object, "spec"))
	if err != nil {
		return ""
	}
	return p.group + "\x00" + strconv.FormatInt(p.Priority, 10) + strconv.FormatBool(p.neverPreempt) + string(spec)
}

// sameClass reports whether two states of a Pod have the same class.
func sameClass(a, b *unstructured.Unstructured) bool {
	return a != nil && a.GetGeneration() == b.GetGeneration() && a.GetUID() == b.GetUID()
}
