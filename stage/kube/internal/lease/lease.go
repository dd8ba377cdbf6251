// Package lease reads and writes Leases of coordination.k8s.io/v1, and judges by the clock of this
// process alone whether their holders live.
//
// # Terminology
//
// A term is what a holder asks for: its name and how long it may go without renewing. A
// [Observation] is when a Lease was last seen to change.
//
// # Determinism
//
// Functions read the time that they are given.
package lease

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is that of Leases.
var Kind = schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}

// Term is what a holder asks for. Durations are whole seconds.
type Term struct {
	Holder   string
	Duration time.Duration
}

// New returns a Lease that nobody has held yet.
func New(namespace, name string) *unstructured.Unstructured {
	l := &unstructured.Unstructured{Object: map[string]any{}}
	l.SetGroupVersionKind(Kind)
	l.SetNamespace(namespace)
	l.SetName(name)
	return l
}

// Acquired returns the Lease as it is for somebody who begins to hold it at a time, having held it
// before or not.
func (t Term) Acquired(l *unstructured.Unstructured, now time.Time) *unstructured.Unstructured {
	acquired := t.Renewed(l, now)
	spec := acquired.Object["spec"].(map[string]any)
	spec["acquireTime"] = spec["renewTime"]
	if l.GetResourceVersion() != "" {
		spec["leaseTransitions"] = Transitions(l) + 1
	}
	return acquired
}

// Renewed returns the Lease as it is for a holder that goes on at a time.
func (t Term) Renewed(l *unstructured.Unstructured, now time.Time) *unstructured.Unstructured {
	renewed := l.DeepCopy()
	spec, ok := renewed.Object["spec"].(map[string]any)
	if !ok {
		spec = map[string]any{}
		renewed.Object["spec"] = spec
	}
	spec["holderIdentity"] = t.Holder
	spec["leaseDurationSeconds"] = int64(t.Duration / time.Second)
	spec["renewTime"] = now.UTC().Format(metav1.RFC3339Micro)
	renewed.SetManagedFields(nil)
	return renewed
}

// Holder returns who holds the Lease, "" for nobody.
func Holder(l *unstructured.Unstructured) string {
	holder, _, _ := unstructured.NestedString(l.Object, "spec", "holderIdentity")
	return holder
}

// Duration returns how long the holder may go without renewing, 0 if the Lease does not say.
func Duration(l *unstructured.Unstructured) time.Duration {
	seconds, _, _ := unstructured.NestedInt64(l.Object, "spec", "leaseDurationSeconds")
	return time.Duration(seconds) * time.Second
}

// Transitions returns how often the Lease has been acquired after the first time.
func Transitions(l *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(l.Object, "spec", "leaseTransitions")
	return n
}

// Observation is when a Lease was last seen to change. The stamps in a Lease are those of another
// clock: they are not read, as in leader election.
type Observation struct {
	version string
	at      time.Time
}

// Observe takes in the Lease as it was read before now.
func (s *Observation) Observe(l *unstructured.Unstructured, now time.Time) {
	if version := l.GetResourceVersion(); version != s.version {
		s.version, s.at = version, now
	}
}

// Expires returns when the holder of the Lease, the one seen last, counts as dead.
func (s Observation) Expires(l *unstructured.Unstructured) time.Time { return s.at.Add(Duration(l)) }

// Expired reports whether the Lease, the one seen last, has no holder that lives.
func (s Observation) Expired(l *unstructured.Unstructured, now time.Time) bool {
	return Holder(l) == "" || !now.Before(s.Expires(l))
}
