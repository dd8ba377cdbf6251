package kstatustest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A State is what an object is made to look like.
type State string

const (
	Current State = "Current" // all is there; every kind has it. A Job is complete, a Pod runs and is ready.
	Failed  State = "Failed"  // for good, or for as long as nobody helps
	Pending State = "Pending" // Pods: bound to a node, nothing started; claims: not bound

	Succeeded        State = "Succeeded"        // Pods: all containers have ended well
	CrashLoopBackOff State = "CrashLoopBackOff" // Pods: a container ended again and again
	ImagePullBackOff State = "ImagePullBackOff" // Pods: an image cannot be had
	OOMKilled        State = "OOMKilled"        // Pods: a container took too much memory
	Evicted          State = "Evicted"          // Pods: the node was short of something
	Unschedulable    State = "Unschedulable"    // Pods: no node is suitable

	NotReady State = "NotReady" // Nodes: the kubelet is silent
)

// Options of [Make]. The zero value is usable.
type Options struct {
	// Now is the time of what is new. Default: the creationTimestamp of the object, or else 2006-01-02T15:04:05Z.
	Now time.Time
	// Container is the container of a Pod that fails. Default: the first.
	Container string
	// Nodes is how many nodes a DaemonSet is for, if its status, of whatever generation, does not say. Default: 1.
	Nodes int
	// Message replaces the message of the condition, or of the container, that tells of the failure.
	Message string
}

// MakeCurrent is [Make] with [Current] and no options.
func MakeCurrent(obj runtime.Object) error { return Make(obj, Current, Options{}) }

// MakeFailed is [Make] with [Failed] and no options.
func MakeFailed(obj runtime.Object) error { return Make(obj, Failed, Options{}) }

// Make gives an object the status of a state. It is an *unstructured.Unstructured or of a Go type such as *appsv1.Deployment, whose kind may be
// empty, as typed clients leave it, if it is one of Kubernetes' own.
//
// Afterwards an object made [Current] is so in both profiles of package kstatus, one made [Failed] in the extended one. The error says what
// stands in the way, such as spec.paused, or that objects of the kind have no such state; then the object is as it was.
func Make(obj runtime.Object, s State, o Options) error {
	fields, kind, err := open(obj)
	if err != nil {
		return err
	}
	d := newDraft(fields, o)
	if err := d.write(kind, s); err != nil {
		return fmt.Errorf("kstatustest: %s: %w", describe(fields, kind), err)
	}
	return closeInto(obj, d.fields)
}

// write tries the makers of a state until one makes what was asked for.
func (d *draft) write(kind schema.GroupKind, s State) error {
	makers, known := makersFor(kind)[s]
	if !known {
		return fmt.Errorf("objects of this kind cannot be made %s, only %v", s, states(makersFor(kind)))
	}
	err := d.countable(kind.Group)
	if err != nil {
		return err
	}
	before := d.fields
	for _, make := range makers {
		d.begin(before)
		make(d)
		if err = d.check(s); err == nil {
			return nil
		}
	}
	return err
}

// countable tells whether a workload asks for numbers that an API server would store: its status counts up to them.
func (d *draft) countable(group string) error {
	if group != "apps" && group != "batch" {
		return nil
	}
	for _, name := range []string{"replicas", "parallelism", "completions"} {
		v, given := object.Get(d.fields, "spec", name)
		if n, ok := object.ToInt64(v); given && v != nil && (!ok || n < 0) {
			return fmt.Errorf("spec.%s: %v is no number of Pods", name, v)
		}
	}
	return nil
}

// check tells whether the object is in the state that it was made for, where package kstatus has a word for it.
func (d *draft) check(s State) error {
	obj := &unstructured.Unstructured{Object: d.fields}
	var profiles map[string]*kstatus.Rules
	switch s {
	case Current:
		profiles = bothProfiles()
	case Failed:
		profiles = map[string]*kstatus.Rules{"extended": kstatus.Extended()}
	}
	for _, name := range slices.Sorted(maps.Keys(profiles)) {
		if r := profiles[name].Compute(obj, d.time); string(r.Status) != string(s) {
			return fmt.Errorf("whatever its status says, the %s profile has it as %s", name, r)
		}
	}
	return nil
}

func bothProfiles() map[string]*kstatus.Rules {
	return map[string]*kstatus.Rules{"standard": kstatus.Standard(), "extended": kstatus.Extended()}
}

func states(m map[State][]maker) []State { return slices.Sorted(maps.Keys(m)) }
