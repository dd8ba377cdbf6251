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

// A State is the state for which [Make] writes a status.
type State string

// The states. Every kind has Current.
const (
	Current State = "Current" // the desired state is reached; a Job is complete, a Pod runs and is ready
	Failed  State = "Failed"  // an error that does not go away by itself
	Pending State = "Pending" // Pods: bound to a node, no container started; claims: not bound; ReplicaSets: no Pod can be created; custom kinds: not ready yet

	Succeeded        State = "Succeeded"        // Pods: all containers ended with exit code 0
	CrashLoopBackOff State = "CrashLoopBackOff" // Pods: a container ends repeatedly
	ImagePullBackOff State = "ImagePullBackOff" // Pods: an image cannot be pulled
	OOMKilled        State = "OOMKilled"        // Pods: a container used too much memory
	Evicted          State = "Evicted"          // Pods: the node did not have enough of a resource
	Unschedulable    State = "Unschedulable"    // Pods: no node is suitable

	NotReady State = "NotReady" // Nodes: the kubelet does not report
)

// Options of [Make]. The zero value is the default.
type Options struct {
	// Now is the time of new conditions and events. Default: the creationTimestamp of the object,
	// or 2006-01-02T15:04:05Z if it has none.
	Now time.Time
	// Container is the container of a Pod that fails. Default: the first.
	Container string
	// Nodes is the number of nodes for a DaemonSet, if its status does not have it. Default: 1.
	Nodes int
	// Message replaces the message of the failed condition or container. Default: that of
	// Kubernetes.
	Message string
}

// MakeCurrent is [Make] with [Current] and no options.
func MakeCurrent(obj runtime.Object) error { return Make(obj, Current, Options{}) }

// MakeFailed is [Make] with [Failed] and no options.
func MakeFailed(obj runtime.Object) error { return Make(obj, Failed, Options{}) }

// Make writes the status of a state into an object, which is an *unstructured.Unstructured or of a
// Go type such as *appsv1.Deployment. The kind of a Go type of Kubernetes may be empty, as typed
// clients leave it.
//
// Afterwards an object made [Current] is Current in both profiles of package kstatus, and one made
// [Failed] is Failed in the extended profile. The error says what prevents that, such as
// spec.paused, or that objects of the kind have no such state. The object is then unchanged.
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

// write tries the makers of a state until one reaches it.
func (d *draft) write(kind schema.GroupKind, s State) error {
	makers, known := makersFor(kind)[s]
	if !known {
		return fmt.Errorf("objects of this kind cannot be made %s, only %v", s, states(makersFor(kind)))
	}
	err := d.checkCounts(kind.Group)
	if err != nil {
		return err
	}
	before := d.fields
	for _, make := range makers {
		d.begin(before)
		make(d)
		if err = d.check(s); err == nil && s == Pending {
			err = d.checkPending(kind)
		}
		if err == nil {
			err = d.checkKnown(kind)
		}
		if err == nil {
			return nil
		}
	}
	return err
}

// checkKnown is unsure for kinds that are neither built in nor known.
func (d *draft) checkKnown(kind schema.GroupKind) error {
	_, builtin := builtinMakers()[kind]
	if _, known := knownMakers(kind); builtin || known {
		return nil
	}
	return d.unsure(kind)
}

// States returns the states in which [Make] can put objects of a kind. For a custom kind that is not
// known it depends on the object whether it can.
func States(kind schema.GroupKind) []State { return states(makersFor(kind)) }

// checkCounts returns an error if the spec of a workload has a number of Pods that an API server
// would not accept.
func (d *draft) checkCounts(group string) error {
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

// check returns an error if package kstatus knows the state and the object is not in it.
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

// checkPending returns an error if an object of a custom kind is not InProgress.
func (d *draft) checkPending(kind schema.GroupKind) error {
	if _, builtin := builtinMakers()[kind]; builtin {
		return nil
	}
	for name, rules := range bothProfiles() {
		if r := rules.Compute(&unstructured.Unstructured{Object: d.fields}, d.time); r.Status != kstatus.InProgress {
			return fmt.Errorf("whatever its status says, the %s profile has it as %s", name, r)
		}
	}
	return nil
}

func bothProfiles() map[string]*kstatus.Rules {
	return map[string]*kstatus.Rules{"standard": kstatus.Standard(), "extended": kstatus.Extended()}
}

func states(m map[State][]maker) []State { return slices.Sorted(maps.Keys(m)) }
