// Package lease reads and writes Leases of coordination.k8s.io/v1, and decides whether their
// holders still renew them. For that it uses the clock of this process only.
//
// # Terminology
//
// A term is the identity of a holder, and the time within which it has to renew. An [Observation]
// is the time at which a Lease was last seen to change.
//
// # Determinism
//
// Functions take the time as an argument.
package lease

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is the kind of Leases.
var Kind = schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}

// Term is the identity of a holder, and the time within which it has to renew. Durations are whole
// seconds.
type Term struct {
	Holder   string
	Duration time.Duration
}

// New returns a Lease that no process has held yet.
func New(namespace, name string) *unstructured.Unstructured {
	l := &unstructured.Unstructured{Object: map[string]any{}}
	l.SetGroupVersionKind(Kind)
	l.SetNamespace(namespace)
	l.SetName(name)
	return l
}

// Acquired returns the Lease with the fields of a holder that acquires it at a time, even if it
// held the Lease before.
func (t Term) Acquired(l *unstructured.Unstructured, now time.Time) *unstructured.Unstructured {
	acquired := t.Renewed(l, now)
	spec := acquired.Object["spec"].(map[string]any)
	spec["acquireTime"] = spec["renewTime"]
	if l.GetResourceVersion() != "" {
		spec["leaseTransitions"] = Transitions(l) + 1
	}
	return acquired
}

// Renewed returns the Lease with the fields of a holder that renews it at a time.
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

// Holder returns the identity of the holder, or "".
func Holder(l *unstructured.Unstructured) string {
	holder, _, _ := unstructured.NestedString(l.Object, "spec", "holderIdentity")
	return holder
}

// Duration returns the time within which the holder has to renew, or 0 if the Lease has none.
func Duration(l *unstructured.Unstructured) time.Duration {
	seconds, _, _ := unstructured.NestedInt64(l.Object, "spec", "leaseDurationSeconds")
	return time.Duration(seconds) * time.Second
}

// Transitions returns how often the Lease has been acquired after the first time.
func Transitions(l *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(l.Object, "spec", "leaseTransitions")
	return n
}

// Observation is when a Lease was last seen to change. The times in a Lease are from another clock,
// so they are not used, as in leader election.
type Observation struct {
	version string
	at      time.Time
}

// Observe records a Lease that was read, at a time.
func (s *Observation) Observe(l *unstructured.Unstructured, now time.Time) {
	if version := l.GetResourceVersion(); version != s.version {
		s.version, s.at = version, now
	}
}

// Expires returns when the holder of the last observed Lease counts as dead.
func (s Observation) Expires(l *unstructured.Unstructured) time.Time { return s.at.Add(Duration(l)) }

// Expired reports whether the last observed Lease has no holder, or one that counts as dead.
func (s Observation) Expired(l *unstructured.Unstructured, now time.Time) bool {
	return Holder(l) == "" || !now.Before(s.Expires(l))
}
