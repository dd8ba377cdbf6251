package kstatus

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/ownership"
)

// A Child is an object that another one made or refers to, and the verdict on it. [Rules.Child] makes one.
type Child struct {
	Object *unstructured.Unstructured // nil if it could not be had, or was dropped
	Result Result

	name string
	note childNote
}

// childNote is what [Rules.Combine] wants to know of a child besides the verdict on it.
type childNote uint8

const (
	noted     childNote = 1 << iota // the object was read: what follows says all about it
	transient                       // its failure may be none in a moment
	waiting                         // a StorageClass that waits for the first consumer of a claim
)

// Child returns an object as a child, with the verdict on it. [Rules.Combine] does not need its Object: who keeps many children can drop them.
func (r *Rules) Child(obj *unstructured.Unstructured, now time.Time) Child {
	c := Child{Object: obj, Result: r.Compute(obj, now)}
	c.note, c.name = noteOf(obj), obj.GetName()
	return c
}

func noteOf(obj *unstructured.Unstructured) childNote {
	note := noted
	var o Object
	o.read(obj.Object, typeOf(obj.Object), time.Time{})
	if transientFailure(&o) {
		note |= transient
	}
	if mode, _ := object.String(o.fields, "volumeBindingMode"); mode == "WaitForFirstConsumer" {
		note |= waiting
	}
	return note
}

// transientFailure tells whether a failed Pod may be none in a moment, as in the fork of Flux: it is being deleted, or waits for a node.
func transientFailure(o *Object) bool {
	if _, deleted := object.String(o.metadata, "deletionTimestamp"); deleted {
		return true
	}
	c, unscheduled := o.find("PodScheduled", "False", "")
	return unscheduled && c.Reason == "Unschedulable"
}

// is reads the note of a child. That of a child without an object is that its failure may be none.
func (c Child) is(what childNote) bool {
	switch {
	case c.note&noted != 0:
		return c.note&what != 0
	case c.Object == nil:
		return what == transient
	}
	return noteOf(c.Object)&what != 0
}

// Combine is the verdict on an object of a kind in the light of its children: nothing but InProgress changes by it. In the standard profile a
// ReplicaSet or StatefulSet fails with any failed Pod. In Extended so do Deployments and DaemonSets, but Pods do not count that are being deleted,
// cannot be scheduled yet, or are gone; the worst child explains what is still in progress; and a claim is Current whose class waits for a consumer.
func (r *Rules) Combine(kind schema.GroupKind, own Result, children []Child) Result {
	switch {
	case own.Status != InProgress || len(children) == 0:
		return own
	case r.transient:
		return combineExtended(kind, own, children)
	case fails[kind] != standardFails:
		return own
	}
	if failed, _ := failures(children, 0); failed > 0 {
		return Failed.because("PodsFailed", counted("%d pods have failed", failed))
	}
	return own
}

// Heeds tells whether children can change the verdict on objects of a kind: if not, nobody need look them up.
func (r *Rules) Heeds(kind schema.GroupKind) bool {
	if r.transient {
		return ownership.Decide(kind)
	}
	return fails[kind] == standardFails
}

// What failed Pods do to their owner, by its kind.
const (
	extendedFails = iota + 1 // it fails in Extended
	standardFails            // it fails
)

var fails = map[schema.GroupKind]int{
	{Group: "apps", Kind: "ReplicaSet"}:  standardFails,
	{Group: "apps", Kind: "StatefulSet"}: standardFails,
	{Group: "apps", Kind: "Deployment"}:  extendedFails,
	{Group: "apps", Kind: "DaemonSet"}:   extendedFails,
}

// failures counts the children that failed, those with a note apart, and returns the first.
func failures(children []Child, but childNote) (n int64, first Child) {
	for _, c := range children {
		if c.Result.Status != Failed || but != 0 && c.is(but) {
			continue
		}
		if n++; n == 1 {
			first = c
		}
	}
	return n, first
}

func combineExtended(kind schema.GroupKind, own Result, children []Child) Result {
	if own.path == "status.observedGeneration" {
		return own // the children may be those of the former generation
	}
	if failed, first := failures(children, transient); failed > 0 && fails[kind] != 0 {
		r := Failed.because("PodsFailed", counted("%d pods have failed", failed))
		if why := first.trouble(); failed == 1 && why != "" {
			r.message = text(why)
			return r
		}
		return first.explain(r)
	}
	worst := children[0]
	for _, c := range children {
		if c.is(waiting) {
			return Current.Because("WaitForFirstConsumer", "The claim is bound with the first Pod that uses it").At("spec.storageClassName")
		}
		if severity[c.Result.Status] > severity[worst.Result.Status] {
			worst = c
		}
	}
	if severity[worst.Result.Status] == 0 {
		return own
	}
	return worst.explain(own)
}

// severity orders what explains best why a parent is in progress; 0 explains nothing.
var severity = map[Status]int{InProgress: 1, Unknown: 2, Failed: 3}

// explain adds to the verdict on a parent what is the matter with a child.
func (c Child) explain(r Result) Result {
	if why := c.trouble(); why != "" {
		r.message = named("%s; %s", r.Message(), why)
	}
	return r
}

// trouble is what is the matter with a child, with its name; "" if that is not known.
func (c Child) trouble() string {
	name, why := c.name, c.Result.Message()
	if name == "" && c.Object != nil {
		name = c.Object.GetName()
	}
	if why == "" {
		why = c.Result.Reason
	}
	if name == "" || why == "" {
		return ""
	}
	return name + ": " + why
}
