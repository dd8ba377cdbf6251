package nodes

import (
	"container/heap"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/kube/internal/lease"
)

// A node is what the lease holder stores about a Node. Its lock guards all fields except the last
// ones.
type node struct {
	name string
	uid  types.UID

	managed bool      // by the policy
	owned   bool      // by this process
	until   time.Time // until when the Lease is held; zero if it is not
	due     time.Time // when to look after the Lease
	index   int       // index in the dueQueue, plus 1; 0 if it is not in it
	busy    bool      // a goroutine is busy with it

	lease    *unstructured.Unstructured // as it was read last, or nil; only for the goroutine that is busy with the node
	observed lease.Observation          // of that
}

func (n *node) held(now time.Time) bool { return now.Before(n.until) }

// key is the Node with the fields that are stored.
func (n *node) key() *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(nodeKind)
	obj.SetName(n.name)
	return obj
}

// A dueQueue holds nodes, ordered by when they are due. The zero value is empty.
type dueQueue struct{ nodes byDue }

// set puts a node into the dueQueue, or moves it, and reports whether it is the first now.
func (a *dueQueue) set(n *node, due time.Time) bool {
	n.due = due
	if n.index > 0 {
		heap.Fix(&a.nodes, n.index-1)
	} else {
		heap.Push(&a.nodes, n)
	}
	return n.index == 1
}

// remove removes a node, if it is in the dueQueue.
func (a *dueQueue) remove(n *node) {
	if n.index > 0 {
		heap.Remove(&a.nodes, n.index-1)
	}
}

// pop removes and returns the first node, if it is due. Otherwise it returns how long until one is.
func (a *dueQueue) pop(now time.Time) (*node, time.Duration) {
	if len(a.nodes) == 0 {
		return nil, time.Hour
	}
	if first := a.nodes[0]; first.due.After(now) {
		return nil, first.due.Sub(now)
	}
	return heap.Pop(&a.nodes).(*node), 0
}

// byDue implements heap.Interface.
type byDue []*node

func (h byDue) Len() int           { return len(h) }
func (h byDue) Less(i, j int) bool { return h[i].due.Before(h[j].due) }

func (h byDue) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i+1, j+1
}

func (h *byDue) Push(x any) {
	*h = append(*h, x.(*node))
	x.(*node).index = len(*h)
}

func (h *byDue) Pop() any {
	last := len(*h) - 1
	n := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	n.index = 0
	return n
}
