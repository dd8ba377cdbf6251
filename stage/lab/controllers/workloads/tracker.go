package workloads

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/selectors"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// podSet is what a controller knows about the Pods of one owner. Each change of a Pod removes its old
// state and adds its new state.
type podSet interface {
	add(pods.Pod)
	remove(pods.Pod)
}

// A tracker has the Pods of owners, by the uid of the owner. So the cost of a reconcile depends on
// what has changed, not on how many Pods the owner has. An owner is not tracked if it is new or if it
// must adopt or release Pods. Its Pods are then claimed and added again.
type tracker[S podSet] map[types.UID]*tracked[S]

// tracked are the Pods of one owner.
type tracked[S podSet] struct {
	pods     S
	selector selectors.Selector
	counting bool // they are being claimed; a change by others meanwhile causes another claim
}

// claim returns the Pods of an owner. It calls the functions if the owner is not tracked: one claims the
// Pods, the other returns an empty set for them.
func (t tracker[S]) claim(c control.Call, owner *unstructured.Unstructured, claim func(control.Call, *unstructured.Unstructured) ([]pods.Pod, error), empty func() S) (S, error) {
	uid := owner.GetUID()
	if known := t[uid]; known != nil {
		return known.pods, nil
	}
	counting := &tracked[S]{counting: true}
	t[uid] = counting
	claimed, err := claim(c, owner)
	counted := &tracked[S]{pods: empty(), selector: selectors.Of(owner)}
	for _, p := range claimed {
		counted.pods.add(p)
	}
	if t[uid] != counting || err != nil { // adoptions take time; a change during them brings the key back
		delete(t, uid)
		return counted.pods, err
	}
	t[uid] = counted
	return counted.pods, nil
}

// of returns the Pods of an owner if they are tracked.
func (t tracker[S]) of(owner types.UID) (s S, ok bool) {
	known := t[owner]
	if known == nil || known.counting {
		return s, false
	}
	return known.pods, true
}

// watches keep the Pods of the owners of a kind up to date.
func (t tracker[S]) watches(controller string, owner schema.GroupVersionKind) []reconcile.Watch {
	owners := control.OwnersBySelector(owner)
	return []reconcile.Watch{
		{Kind: owner, Map: t.onOwner},
		{Kind: kinds.Pod, Map: func(c *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
			t.onPod(c, owners, ch, ch.By == controller)
			return nil
		}},
	}
}

func (t tracker[S]) onOwner(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
	if ch.Old != nil && (ch.New == nil || ch.New.GetUID() != ch.Old.GetUID()) {
		delete(t, ch.Old.GetUID())
	}
	return nil
}

func (t tracker[S]) onPod(c *reconcile.Cache, owners *reconcile.SelectorIndex, ch reconcile.Change, own bool) {
	if ch.Old != nil {
		t.update(ch.Old, own, S.remove)
	}
	if ch.New == nil {
		return
	}
	if control.HasController(ch.New) {
		t.update(ch.New, own, S.add)
		return
	}
	for _, owner := range c.Selecting(owners, ch.New) { // they have to adopt it
		delete(t, owner.GetUID())
	}
}

// update adds a Pod to the Pods of its owner, or removes it. If the owner does not select the Pod,
// the owner must release it. The controller's own writes while Pods are counted are adoptions and
// releases.
func (t tracker[S]) update(pod *unstructured.Unstructured, own bool, do func(S, pods.Pod)) {
	uid := control.ControllerUID(pod)
	tracked := t[uid]
	switch {
	case tracked == nil || tracked.counting && own:
	case tracked.counting || !tracked.selector.Matches(pod):
		delete(t, uid)
	default:
		do(tracked.pods, pods.Of(pod))
	}
}
