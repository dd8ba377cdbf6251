package simulation

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/internal/random"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/reconcile/timing"
)

// A kubeletClients has the clients of all kubelets, for a simulation in which requests take time.
type kubeletClients struct {
	view     *timing.View[watch.Event] // the events that the kubelets have seen
	byNode   map[string]*kubeletClient // "" has no limit
	inFlight map[stage.Key]bool        // objects whose transition waits for its request
	started  map[types.UID]bool        // Pods that were played before
	requests calls                     // functions that are called when a request takes effect
}

// A kubeletClient sends the requests of one kubelet.
type kubeletClient struct {
	requests *timing.Client
	starts   *timing.Bucket
}

func newKubeletClients(t *Timing) *kubeletClients {
	return &kubeletClients{
		view: timing.NewView[watch.Event](t.WatchDelay), byNode: map[string]*kubeletClient{},
		inFlight: map[stage.Key]bool{}, started: map[types.UID]bool{},
	}
}

// clientOf returns the client of the kubelet that plays an object.
func (s *Simulation) clientOf(obj *unstructured.Unstructured) *kubeletClient {
	node, t := nodeOf(obj), s.options.Timing
	c := s.clients.byNode[node]
	if c == nil {
		limits := t.Kubelet
		if node == "" {
			limits = KubeletTiming{}
		}
		seed := random.New(t.Seed).Text("kubelet").Text(node).Sum()
		c = &kubeletClient{timing.NewClient(limits.Limits, t.Latency, seed), timing.NewBucket(limits.Starts)}
		s.clients.byNode[node] = c
	}
	return c
}

// nodeOf returns the Node whose kubelet plays an object; "" without one.
func nodeOf(obj *unstructured.Unstructured) string {
	switch obj.GroupVersionKind() {
	case nodes:
		return obj.GetName()
	case pods:
		name, _, _ := unstructured.NestedString(obj.Object, "spec", "nodeName")
		return name
	}
	return ""
}

// later calls a function when a request takes effect.
func (s *Simulation) later(at time.Time, do func(context.Context) error) {
	s.clients.requests.Set(&call{do: do}, at)
}

// send plays a transition when its first request takes effect. Until then the Engine does not
// observe changes of the object.
func (s *Simulation) send(ctx context.Context, t stage.Transition) {
	obj, err := s.shared.Get(ctx, t.Key.GroupVersionKind(), t.Key.NamespacedName())
	if err != nil {
		return
	}
	client := s.clientOf(obj)
	s.clients.inFlight[t.Key] = true
	request := func(context.Context) error {
		s.later(client.requests.Send(s.now, timing.Patch), func(ctx context.Context) error {
			s.takeEffect(ctx, t, client)
			return nil
		})
		return nil
	}
	if obj.GroupVersionKind() != pods || s.clients.started[t.UID] {
		_ = request(ctx)
		return
	}
	s.clients.started[t.UID] = true
	s.later(client.starts.Take(s.now), request)
}

// takeEffect plays a transition if the object still has it, and then observes the present object.
func (s *Simulation) takeEffect(ctx context.Context, t stage.Transition, client *kubeletClient) {
	delete(s.clients.inFlight, t.Key)
	obj, err := s.shared.Get(ctx, t.Key.GroupVersionKind(), t.Key.NamespacedName())
	if err != nil {
		return
	}
	if obj.GetUID() == t.UID && s.isPlayed(obj) && t.Matches(obj, s.now) {
		s.payFor(t, obj, client)
		s.play(ctx, t)
	}
	s.observeNow(ctx, t.Key)
}

// payFor takes the tokens of the requests after the first one.
func (s *Simulation) payFor(t stage.Transition, obj *unstructured.Unstructured, client *kubeletClient) {
	plan, _ := t.Plan(obj, s.now) // play traces the error
	first := true
	for _, e := range plan {
		if _, event := e.(stage.Event); event || e == nil {
			continue
		}
		if !first {
			client.requests.Send(s.now, timing.Patch)
		}
		first = false
	}
}

// observeNow makes the Engine observe the present state of an object.
func (s *Simulation) observeNow(ctx context.Context, key stage.Key) {
	if obj, err := s.shared.Get(ctx, key.GroupVersionKind(), key.NamespacedName()); err == nil {
		s.observeEvent(watch.Modified, obj)
	}
}

// seeLate makes the kubelets see an event: they read the present state of the object.
func (s *Simulation) seeLate(ctx context.Context, e watch.Event) {
	obj := e.Object.(*unstructured.Unstructured)
	key := stage.KeyOf(obj)
	if e.Type == watch.Deleted {
		delete(s.clients.started, obj.GetUID())
		s.observeEvent(e.Type, obj)
	}
	s.observeNow(ctx, key)
}

// isInFlight reports whether a transition of an object waits for its request.
func (k *kubeletClients) isInFlight(key stage.Key) bool { return k != nil && k.inFlight[key] }

// next adds the time of the next action of the kubelets.
func (k *kubeletClients) next(m *earliest) {
	if k == nil {
		return
	}
	m.add(k.view.Next())
	m.add(k.requests.Next())
}

// stepKubelets does the first due action of the kubelets. It returns false if no action is due.
func (s *Simulation) stepKubelets(ctx context.Context) bool {
	if s.clients == nil {
		return false
	}
	if e, ok := s.clients.view.Take(s.now); ok {
		s.seeLate(ctx, e)
		return true
	}
	c, ok := s.clients.requests.Pop(s.now)
	if ok {
		_ = c.do(ctx)
	}
	return ok
}
