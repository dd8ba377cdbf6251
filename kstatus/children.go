package kstatus

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/ownership"
)

// A Child is a dependent of an object, or another object that it refers to, with the verdict on it.
// [Rules.Child] makes one.
type Child struct {
	Object *unstructured.Unstructured // nil if the look-up failed or the caller dropped it
	Result Result

	name  string
	flags childFlags
}

// childFlags are what [Rules.Combine] needs to know of a child besides the verdict on it.
type childFlags uint8

const (
	flagsRead        childFlags = 1 << iota // the object was read; the other flags hold
	transientFailure                        // the failure may pass without any change to the object
	waitsForConsumer                        // a StorageClass that binds a claim with its first consumer
)

// Child returns an object as a child, with the verdict on it. [Rules.Combine] does not need its
// Object: callers that keep many children can set it to nil.
func (r *Rules) Child(obj *unstructured.Unstructured, now time.Time) Child {
	return Child{Object: obj, Result: r.Compute(obj, now), name: obj.GetName(), flags: readFlags(obj)}
}

func readFlags(obj *unstructured.Unstructured) childFlags {
	flags := flagsRead
	var o Object
	o.read(obj.Object, time.Time{})
	if failsTransiently(&o) {
		flags |= transientFailure
	}
	if mode, _ := object.String(o.fields, "volumeBindingMode"); mode == "WaitForFirstConsumer" {
		flags |= waitsForConsumer
	}
	return flags
}

// failsTransiently reports whether the failure of a Pod may pass: the Pod is being deleted, or
// cannot be scheduled yet. This is the rule of the fork of kstatus in Flux.
func failsTransiently(o *Object) bool {
	if _, deleted := object.String(o.metadata, "deletionTimestamp"); deleted {
		return true
	}
	c, unscheduled := o.findView("PodScheduled", "False", "")
	return unscheduled && c.reason() == "Unschedulable"
}

// is reports whether a child has a flag. The failure of a child without an object counts as
// transient.
func (c Child) is(flag childFlags) bool {
	switch {
	case c.flags&flagsRead != 0:
		return c.flags&flag != 0
	case c.Object == nil:
		return flag == transientFailure
	}
	return readFlags(c.Object)&flag != 0
}

// combineFailed is how failed children change the verdict on their owner.
type combineFailed uint8

const (
	failReplicas   combineFailed = iota // any failed Pod fails a ReplicaSet or StatefulSet; as upstream
	failAndExplain                      // see combineExtended
)

// Combine returns the verdict on an object of a kind, given the verdict on the object alone and its
// children. Only InProgress can change, and the message of a Job that Failed, which names the exit
// code of a Pod in Extended.
//
// In the standard profile any failed Pod fails a ReplicaSet or StatefulSet. In Extended it also
// fails a Deployment or DaemonSet, but Pods do not count that are being deleted, cannot be
// scheduled yet, or no longer exist. The message then names the worst child also if the object
// stays in progress, and a PersistentVolumeClaim is Current if its class waits for a consumer.
func (r *Rules) Combine(kind schema.GroupKind, own Result, children []Child) Result {
	switch {
	case len(children) == 0:
		return own
	case r.combine == failAndExplain && own.Status == Failed && kind == jobKind:
		return explainFailure(own, children)
	case own.Status != InProgress:
		return own
	case r.combine == failAndExplain:
		return combineExtended(kind, own, children)
	case !replicaKinds[kind]:
		return own
	}
	if failed, _ := countFailed(children, 0); failed > 0 {
		return podsFailed(failed)
	}
	return own
}

// DependsOnChildren reports whether children can change the verdict on objects of a kind. If not,
// no caller has to look them up.
func (r *Rules) DependsOnChildren(kind schema.GroupKind) bool {
	if r.combine == failAndExplain {
		return ownership.DependsOnChildren(kind)
	}
	return replicaKinds[kind]
}

// replicaKinds are the kinds that fail with a Pod in the standard profile.
var replicaKinds = map[schema.GroupKind]bool{
	{Group: "apps", Kind: "ReplicaSet"}:  true,
	{Group: "apps", Kind: "StatefulSet"}: true,
}

// workloadKinds are the kinds that fail with a Pod in Extended.
var workloadKinds = map[schema.GroupKind]bool{
	{Group: "apps", Kind: "ReplicaSet"}:  true,
	{Group: "apps", Kind: "StatefulSet"}: true,
	{Group: "apps", Kind: "Deployment"}:  true,
	{Group: "apps", Kind: "DaemonSet"}:   true,
}

var jobKind = schema.GroupKind{Group: "batch", Kind: "Job"}

// explainFailure adds the problem of a failed Pod to the verdict on its Job, which only says how
// many there were.
func explainFailure(own Result, pods []Child) Result {
	if n, first := countFailed(pods, 0); n > 0 {
		return first.addProblem(own)
	}
	return own
}

// countFailed counts the failed children, except those with a flag, and returns the first one.
func countFailed(children []Child, except childFlags) (n int64, first Child) {
	for _, c := range children {
		if c.Result.Status != Failed || except != 0 && c.is(except) {
			continue
		}
		if n++; n == 1 {
			first = c
		}
	}
	return n, first
}

func podsFailed(n int64) Result {
	return Failed.because("PodsFailed", withNumbers("%d pods have failed", n)).on(BasisKind)
}

func combineExtended(kind schema.GroupKind, own Result, children []Child) Result {
	if own.path == "status.observedGeneration" {
		return own // the children may be those of the previous generation
	}
	if failed, first := countFailed(children, transientFailure); failed > 0 && workloadKinds[kind] {
		r := podsFailed(failed)
		if why := first.problem(); failed == 1 && why != "" {
			r.message = text(why)
			return r
		}
		return first.addProblem(r)
	}
	worst := children[0]
	for _, c := range children {
		if c.is(waitsForConsumer) {
			r := Current.Because("WaitForFirstConsumer", "The claim is bound with the first Pod that uses it")
			return r.At("spec.storageClassName").on(BasisKind)
		}
		if severity[c.Result.Status] > severity[worst.Result.Status] {
			worst = c
		}
	}
	if severity[worst.Result.Status] == 0 {
		return own
	}
	return worst.addProblem(own)
}

// severity orders the statuses of children by how well they explain why their owner is in progress.
// A status that is not listed explains nothing.
var severity = map[Status]int{InProgress: 1, Unknown: 2, Failed: 3}

// addProblem adds the problem of a child to the message of its owner.
func (c Child) addProblem(r Result) Result {
	if why := c.problem(); why != "" {
		r.message = withWords("%s; %s", r.message.String(), why)
	}
	return r
}

// problem returns the name of a child and its message, "" if one of them is not known.
func (c Child) problem() string {
	name, why := c.name, c.Result.message.String()
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
