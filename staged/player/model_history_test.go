package player_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/staged/application"
	"github.com/stagecraft-go/stagecraft/staged/control"
	fleets "github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/manifestwork"
	"github.com/stagecraft-go/stagecraft/staged/player"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

var combinedStatusKind = control.GroupVersion.WithKind("CombinedStatus")

// A fleetKind is a transport of the histories.
type fleetKind string

const (
	overHub   fleetKind = "K0"
	overSpace fleetKind = "K1"
	overOCM   fleetKind = "OCM"
	overArgo  fleetKind = "Argo CD"
)

// content reports whether the transport knows which revision a cluster has.
func (k fleetKind) content() bool { return k != overHub }

// places reports whether the transport can place an old revision.
func (k fleetKind) places() bool { return k == overOCM || k == overArgo }

// A history is one run of a fleet, its users and its players, with what really happens.
type history struct {
	kind       fleetKind
	together   bool // what a fleet does happens in one step, as in a model that sees less
	now        time.Time
	hub, space *apiServer // two servers over K1, one elsewhere
	members    map[string]*member
	health     map[string]health
	versions   map[string]version // by revision
	pushed     []version          // in the order of the source
	designs    []design
	design     int
	designOf   map[int64]design // by the generation of the policy
	actors     []*actor
	snapshots  map[fleets.RevisionID]fleets.Snapshot
	hubs       []backup
	spaces     []backup
	steps      int
	oracle
}

// An actor is a player: a program with its own caches and a clock that is wrong.
type actor struct {
	direct    engine
	shown     map[schema.GroupVersionKind]int // how many changes of each kind it was shown
	inventory map[string]map[string]string    // the clusters as it sees them
	offset    time.Duration
	rate      float64
	nth       int
	fates     []fate // of its next writes
	between   func() // what happens before its next write
	crashed   bool
	seen      map[key]*unstructured.Unstructured // what it was shown

	wroteStatus bool // since it has decided
}

// An engine is a Player without goroutines.
type engine interface {
	Kinds() []schema.GroupVersionKind
	Observe(kind schema.GroupVersionKind, obj *unstructured.Unstructured, deleted, inList bool)
	Listed(kind schema.GroupVersionKind)
	Decide(ctx context.Context)
}

// newEngine makes the Player of an actor. TestFormerEngine puts another one in its place.
var newEngine = func(h *history, a *actor, c client, o player.Options) engine {
	return player.NewDirect(c, o, func() time.Time { return h.clock(a) })
}

func newHistory(kind fleetKind, r *rand.Rand) *history {
	h := &history{kind: kind, now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), members: map[string]*member{}, health: map[string]health{}, versions: map[string]version{},
		designOf: map[int64]design{}, snapshots: map[fleets.RevisionID]fleets.Snapshot{}}
	h.oracle = newOracle()
	clock := func() time.Time { return h.now }
	h.hub = newAPIServer(clock)
	if h.space = h.hub; kind == overSpace {
		h.space = newAPIServer(clock)
	}
	h.designs = planAll(r, kind)
	first := version{web: 1, api: r.IntN(2)}
	for _, env := range []string{"a", "b", "c"} {
		for n := range 1 + r.IntN(2) {
			h.join(fmt.Sprint(env, n+1), env, r.IntN(3) == 0)
		}
	}
	collector := map[string]any{"combinedFields": []any{map[string]any{"name": "ready", "type": "SUM", "subject": "returned.status.ready"}, map[string]any{"name": "bad", "type": "SUM", "subject": "returned.status.bad"}}, "limit": int64(20)}
	h.hub.setSpec(object(control.GroupVersion.WithKind("StatusCollector"), "", "agg", map[string]any{"spec": collector}))
	h.writePolicy()
	h.push(first, true)
	skew := []time.Duration{0, 0, 4 * time.Minute, 10 * time.Minute}[r.IntN(4)]
	for n := range 1 + r.IntN(3) {
		a := &actor{nth: n}
		if skew > 0 {
			a.offset, a.rate = time.Duration(r.Int64N(int64(2*skew)))-skew, (r.Float64()-0.5)*1e-4
		}
		h.actors = append(h.actors, a)
		h.start(a)
	}
	if r.IntN(6) == 0 {
		for _, name := range sortedNames(h.members) {
			if r.IntN(2) == 0 {
				h.had(h.members[name])
			}
		}
	}
	return h
}

// had gives a cluster a workload from before the policy, which somebody has put there by hand (2.8).
func (h *history) had(m *member) {
	v := version{web: 1000}
	m.objects["web"] = &live{image: v.web, generation: 1, delivered: 1, owners: map[string]bool{}}
	h.baseline[m.name] = v
	set(h.arrived, m.name, v, h.now)
	h.idOf(v)
	h.note("cluster %s has %s, from before the policy", m.name, v)
	if h.kind == overArgo {
		app := h.hub.get(application.Kind, "argocd", "web-"+m.name).DeepCopy()
		app.Object["spec"] = map[string]any{"source": sourceOf(v)}
		h.hub.setSpec(app)
		h.compare(m)
	}
	h.counts["clusters with a workload from before"]++
}

// join makes a cluster.
func (h *history) join(name, env string, tier bool) {
	labels := map[string]any{"env": env, "name": name}
	if tier {
		labels["tier"] = "t"
	}
	h.members[name] = &member{name: name, labels: labels, objects: map[string]*live{}, read: map[string]*statusRead{}, applied: map[string]int64{}}
	if h.kind == overArgo {
		h.hub.setSpec(object(application.Kind, "argocd", "web-"+name, map[string]any{"spec": map[string]any{"source": map[string]any{"repoURL": "https://example.org/web.git"}}}))
	}
}

// writePolicy writes the present design, and remembers which generation it is.
func (h *history) writePolicy() {
	text := "apiVersion: community.kubestellar.io/v1alpha1\nkind: StagedBindingPolicy\nmetadata: {name: s}\nspec:\n" + h.designs[h.design].yaml()
	fields := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
		panic(err)
	}
	data, _ := json.Marshal(fields)
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(data); err != nil {
		panic(err)
	}
	h.designOf[h.hub.setSpec(obj).GetGeneration()] = h.designs[h.design]
}

func (h *history) policy() *unstructured.Unstructured { return h.hub.get(stagedPolicyKind, "", "s") }

func (h *history) status() v1alpha1.Status { return statusOf(h.policy()) }

func statusOf(obj *unstructured.Unstructured) v1alpha1.Status {
	var p v1alpha1.StagedBindingPolicy
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"status": obj.Object["status"], "metadata": map[string]any{}, "spec": map[string]any{}}, &p); err != nil {
		panic(err)
	}
	return p.Status
}

// annotate writes an annotation of the policy.
func (h *history) annotate(name, value string) {
	patch := map[string]any{"metadata": map[string]any{"annotations": map[string]any{name: value}}}
	h.hub.put(&unstructured.Unstructured{Object: merge(h.policy().Object, patch).(map[string]any)}, "")
}

// push writes another version into the source: on the hub one object after the other.
func (h *history) push(v version, whole bool) {
	was := h.source()
	if h.kind == overArgo {
		data, _ := json.Marshal(sourceOf(v))
		h.annotate(application.SourceAnnotation, string(data))
	} else {
		if v.api > 0 {
			h.hub.setSpec(&unstructured.Unstructured{Object: manifestOf("api", v.api)})
		}
		if whole || was.web == 0 {
			h.hub.setSpec(&unstructured.Unstructured{Object: manifestOf("web", v.web)})
		}
	}
	h.pushed = append(h.pushed, h.source())
	h.idOf(h.source())
	h.note("the source is %s", h.source())
}

// source is what the source holds.
func (h *history) source() (v version) {
	if h.kind == overArgo {
		var source map[string]any
		_ = json.Unmarshal([]byte(h.policy().GetAnnotations()[application.SourceAnnotation]), &source)
		return versionOf(source)
	}
	if web := h.hub.get(deploymentKind, "shop", "web"); web != nil {
		v.web = imageIn(web.Object)
	}
	if api := h.hub.get(deploymentKind, "shop", "api"); api != nil {
		v.api = imageIn(api.Object)
	}
	return v
}

// workServer is where agents find their ManifestWorks; nil if they have none.
func (h *history) workServer() *apiServer {
	if h.kind == overArgo {
		return nil
	}
	return h.space
}

// clock is the time of a player.
func (h *history) clock(a *actor) time.Time {
	since := h.now.Sub(time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC))
	return h.now.Add(a.offset + time.Duration(a.rate*float64(since)))
}

// start starts a player, or starts it again after a crash: it lists everything.
func (h *history) start(a *actor) {
	c := client{apiServer: h.hub, before: func(verb string, k key) fate { return h.beforeWrite(a, k) },
		after: func(verb string, k key, old, stored *unstructured.Unstructured) { h.wrote(a, verb, k, old, stored) }}
	o := player.Options{Clusters: func() map[string]map[string]string { return a.inventory }, Snapshots: modelStore{h}}
	o.Trace = func(e player.TraceEvent) {
		if e.Err != nil {
			h.note("player %d: %v", a.nth, e.Err)
		}
	}
	h.equip(&o, c)
	a.direct = newEngine(h, a, c, o)
	a.shown, a.crashed, a.fates, a.between, a.seen = map[schema.GroupVersionKind]int{}, false, nil, nil, map[key]*unstructured.Unstructured{}
	h.seeClusters(a)
	for _, kind := range a.direct.Kinds() {
		server := h.serverOf(kind)
		for _, obj := range server.list(kind) {
			a.direct.Observe(kind, obj, false, true)
			a.seen[keyOf(obj)] = obj
		}
		a.shown[kind] = len(server.changes[kind])
		a.direct.Listed(kind)
	}
}

// equip gives a player the adapter of the transport.
func (h *history) equip(o *player.Options, c client) {
	switch h.kind {
	case overSpace:
		reader := c
		reader.apiServer = h.space
		o.Space, o.Workload = reader, []player.WorkloadKind{{GroupVersionKind: deploymentKind}}
	case overOCM:
		o.Workload = []player.WorkloadKind{{GroupVersionKind: deploymentKind}}
		o.Transport = manifestwork.New(c, manifestwork.Options{Clusters: o.Clusters, Feedback: map[string]string{"ready": ".ready", "bad": ".bad"},
			Collectors: map[string]*kubestellar.Collector{"agg": sums("returned.status.ready", "returned.status.bad")}})
	case overArgo:
		o.Transport = application.New(c, application.Options{Clusters: o.Clusters, Name: application.ByCluster("web"), Namespace: "argocd",
			Collectors: map[string]*kubestellar.Collector{"agg": sums("returned.status.health == 'Healthy' ? 1 : 0", "returned.status.health == 'Degraded' ? 1 : 0")}})
	}
}

var compiledSums = map[string]*kubestellar.Collector{}

// sums is a collector of two sums.
func sums(ready, bad string) *kubestellar.Collector {
	if c := compiledSums[ready]; c != nil {
		return c
	}
	c, err := kubestellar.Compile(control.StatusCollectorSpec{CombinedFields: []control.NamedAggregator{{Name: "ready", Type: "SUM", Subject: &ready}, {Name: "bad", Type: "SUM", Subject: &bad}}})
	if err != nil {
		panic(err)
	}
	compiledSums[ready] = c
	return c
}

func (h *history) serverOf(kind schema.GroupVersionKind) *apiServer {
	if h.kind == overSpace && (kind == manifestwork.Kind || kind == workStatusKind) {
		return h.space
	}
	return h.hub
}

func (h *history) seeClusters(a *actor) {
	a.inventory = map[string]map[string]string{}
	for name, m := range h.members {
		a.inventory[name] = map[string]string{}
		for k, v := range m.labels {
			a.inventory[name][k] = v.(string)
		}
	}
}

// show shows a player the changes of a kind, up to a number of them.
func (h *history) show(a *actor, kind schema.GroupVersionKind, most int) {
	changes := h.serverOf(kind).changes[kind]
	for ; a.shown[kind] < len(changes) && most > 0; most-- {
		c := changes[a.shown[kind]]
		a.shown[kind]++
		a.direct.Observe(kind, c.obj, c.deleted, c.inList)
		if a.seen[key{kind, c.name}] = c.obj; c.deleted {
			delete(a.seen, key{kind, c.name})
		}
	}
}

// turn is a player that sees some of what has changed and does what is due. The bits of mask are the kinds
// that it sees.
func (h *history) turn(a *actor, mask uint32) {
	if a.crashed {
		h.start(a)
	}
	kinds := a.direct.Kinds()
	slices.SortFunc(kinds, func(x, y schema.GroupVersionKind) int { return strings.Compare(x.Kind, y.Kind) })
	for i, kind := range kinds {
		if mask>>i&1 == 1 || h.together {
			h.show(a, kind, 1000)
		}
	}
	if mask>>len(kinds)&1 == 1 {
		h.seeClusters(a)
	}
	h.deciding(a)
	a.direct.Decide(context.Background())
	a.fates, a.between = nil, nil
}

// beforeWrite is what happens before a write of a player.
func (h *history) beforeWrite(a *actor, k key) fate {
	if a.crashed {
		return refused
	}
	if between := a.between; between != nil && k.kind != stagedPolicyKind {
		a.between = nil
		between()
	}
	if len(a.fates) == 0 {
		return carriedOut
	}
	f := a.fates[0]
	if a.fates = a.fates[1:]; f == dies {
		a.crashed = true
		return refused
	}
	return f
}

// dies is the fate of a write of a player that crashes before it.
const dies = fate(3)

// A modelStore keeps snapshots.
type modelStore struct{ h *history }

func (s modelStore) Read(_ context.Context, _ string, id fleets.RevisionID) (fleets.Snapshot, error) {
	if content, has := s.h.snapshots[id]; has {
		return content, nil
	}
	return fleets.Snapshot{}, refusal(key{}, notFound)
}

func (s modelStore) Write(_ context.Context, _ string, _ types.UID, content fleets.Snapshot) error {
	s.h.snapshots[content.Revision] = content
	return nil
}

func (s modelStore) Prune(_ context.Context, _ string, keep []fleets.RevisionID) error {
	maps.DeleteFunc(s.h.snapshots, func(id fleets.RevisionID, _ fleets.Snapshot) bool { return !slices.Contains(keep, id) })
	return nil
}
