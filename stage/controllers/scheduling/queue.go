package scheduling

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/fields"
)

// A queue is the scheduling queue: the Pods that wait for a Node. Pods with the same signature form
// a class. If the first of them fits on no Node, neither do the others.
type queue struct {
	pods    map[types.NamespacedName]*queuedPod
	classes map[string]*podClass // by signature
	added   uint64               // how many Pods were added so far
}

// A podClass is the waiting Pods with one signature.
type podClass struct {
	signature     string
	pod           *PodInfo     // the one that came first stands for all
	waiting       []*queuedPod // in the order in which they are scheduled; never empty
	unschedulable bool         // the first one fits on no Node, and nothing has changed since
	message       string       // what the condition of those that wait says
	unreported    []*queuedPod // those without the condition
}

// A queuedPod is one Pod in the queue.
type queuedPod struct {
	class    *podClass
	name     types.NamespacedName
	priority int64
	seq      uint64 // grows with every Pod that is added
}

func newQueue() queue {
	return queue{pods: map[types.NamespacedName]*queuedPod{}, classes: map[string]*podClass{}}
}

func (q *queue) has(name types.NamespacedName) bool { return q.pods[name] != nil }

func (q *queue) add(pod *unstructured.Unstructured) {
	info := NewPodInfo(pod)
	signature := info.signature()
	class := q.classes[signature]
	if class == nil {
		class = &podClass{signature: signature, pod: info}
		q.classes[signature] = class
	}
	q.added++
	p := &queuedPod{class: class, name: control.NameOf(pod), priority: fields.Int64(pod.Object, 0, "spec", "priority"), seq: q.added}
	at, _ := slices.BinarySearchFunc(class.waiting, p, (*queuedPod).compare)
	class.waiting = slices.Insert(class.waiting, at, p)
	class.unreported = append(class.unreported, p)
	class.unschedulable = false // the new Pod needs the condition, too
	q.pods[p.name] = p
}

// compare puts Pods of higher priority first, and those of the same priority in the order in which
// they were added.
func (p *queuedPod) compare(other *queuedPod) int {
	return cmp.Or(cmp.Compare(other.priority, p.priority), cmp.Compare(p.seq, other.seq))
}

func (q *queue) remove(name types.NamespacedName) {
	p := q.pods[name]
	class := p.class
	delete(q.pods, name)
	if at, _ := slices.BinarySearchFunc(class.waiting, p, (*queuedPod).compare); at == 0 {
		class.waiting = class.waiting[1:] // mostly, and without moving the many that may follow
	} else {
		class.waiting = slices.Delete(class.waiting, at, at+1)
	}
	if len(class.waiting) == 0 {
		delete(q.classes, class.signature)
	}
}

// next returns the class of the Pod that is next, nil if no Pod is schedulable.
func (q *queue) next() *podClass {
	var first *podClass
	for _, class := range q.classes {
		if !class.unschedulable && (first == nil || class.waiting[0].compare(first.waiting[0]) < 0) {
			first = class
		}
	}
	return first
}

// retryAll takes all Pods for schedulable again. It is false if there are none.
func (q *queue) retryAll() bool {
	for _, class := range q.classes {
		class.unschedulable = false
	}
	return len(q.classes) > 0
}
