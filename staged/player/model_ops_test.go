package player_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

func notFound(r schema.GroupResource, name string) *apierrors.StatusError {
	return apierrors.NewNotFound(r, name)
}

// An action is something that happens in a history. Its numbers choose the details.
type action struct {
	kind    string
	a, b, c uint32
}

// actionKinds are the kinds of actions, each as often as it is likely.
var actionKinds = slices.Concat(
	slices.Repeat([]string{"turn"}, 22), slices.Repeat([]string{"step"}, 24), slices.Repeat([]string{"round"}, 12), slices.Repeat([]string{"chain"}, 6), slices.Repeat([]string{"flow"}, 30),
	slices.Repeat([]string{"time"}, 8), slices.Repeat([]string{"approve"}, 3), slices.Repeat([]string{"push"}, 3), slices.Repeat([]string{"health"}, 3), slices.Repeat([]string{"badpush"}, 3),
	[]string{"long", "edit", "edit", "pause", "oldapproval", "retry", "retry", "label", "join", "leave", "offline", "offline", "autoscale", "heartbeat", "heartbeat", "noop", "crash",
		"backup", "restore", "again", "foreign"},
)

// disturbing are the kinds that excuse something, by the least wildness of histories that have them.
var disturbing = map[string]int{"edit": 1, "pause": 1, "foreign": 1, "label": 2, "join": 2, "leave": 2, "restore": 3, "backup": 3}

func randomActions(r *rand.Rand) []action {
	wild := r.IntN(4)
	actions := make([]action, 0, 60)
	for n := 20 + r.IntN(40); len(actions) < n; {
		a := action{actionKinds[r.IntN(len(actionKinds))], r.Uint32(), r.Uint32(), r.Uint32()}
		if disturbing[a.kind] <= wild {
			actions = append(actions, a)
		}
	}
	return actions
}

// do lets something happen.
func (h *history) do(x action) {
	h.steps++
	h.noteSource()
	if h.verbose {
		h.note("-- %s %d %d %d", x.kind, x.a, x.b, x.c)
	}
	switch x.kind {
	case "turn":
		h.faultyTurn(x)
	case "round":
		h.chain(^uint32(0))
		h.turn(h.actors[int(x.a)%len(h.actors)], ^uint32(0))
		h.chainUpTo(x.b, int(x.c)%(2*len(h.links())))
	case "chain":
		h.chain(x.a | x.b)
	case "flow":
		h.flow(rand.New(rand.NewPCG(uint64(x.a), uint64(x.b))), 1+int(x.c%9))
	case "step":
		h.step(x)
	case "time":
		h.now = h.now.Add(time.Duration(500+x.a%15000) * time.Millisecond)
	case "long":
		h.now = h.now.Add(time.Duration(1+x.a%[]uint32{120, 1200}[x.b%2]) * time.Second)
	case "crash":
		h.actors[int(x.a)%len(h.actors)].crashed = true
	default:
		h.use(x)
	}
	h.check()
}

// faultyTurn is a turn of a player that may see old objects, and whose writes may fail; another may have a
// turn between its writes.
func (h *history) faultyTurn(x action) {
	a := h.actors[int(x.a)%len(h.actors)]
	if x.b%8 == 0 {
		a.fates = make([]fate, x.c>>8%4, 5)
		a.fates = append(a.fates, fate(1+x.c%3))
	}
	if x.b%5 == 0 {
		other := h.actors[int(x.c)%len(h.actors)]
		a.between = func() {
			switch {
			case other != a:
				other.between = nil
				h.turn(other, x.c>>4|1<<31)
			default:
				h.chain(x.c >> 4)
			}
		}
	}
	mask := ^uint32(0)
	if x.b%3 == 0 {
		mask = x.c >> 3
	}
	h.turn(a, mask)
}

// A link is one step of what brings a workload to a cluster and a status back.
type link struct {
	name string
	do   func(h *history, m *member, n uint32)
}

// links are the steps of each transport, in the order in which they bring something to its end.
func (h *history) links() []link {
	objects := []string{"web", "api"}
	each := func(do func(*history, *member, string)) func(*history, *member, uint32) {
		return func(h *history, m *member, n uint32) {
			for i, name := range objects {
				if n>>i&1 == 1 {
					do(h, m, name)
				}
			}
		}
	}
	bind := func(h *history, _ *member, n uint32) { h.eachBinding(n, h.bind) }
	control := link{"controller", func(h *history, m *member, _ uint32) { h.act(m) }}
	apply := link{"agent", func(h *history, m *member, _ uint32) { h.apply(m) }}
	confirm := link{"confirmation", func(h *history, m *member, _ uint32) { h.confirm(m) }}
	switch h.kind {
	case overOCM:
		return []link{apply, confirm, {"feedback", func(h *history, m *member, _ uint32) { h.feedback(m) }}, control}
	case overArgo:
		return []link{{"operation", func(h *history, m *member, _ uint32) { h.operate(m) }}, control, {"comparison", func(h *history, m *member, _ uint32) { h.compare(m) }}}
	}
	return []link{{"binding", bind}, {"transport", func(h *history, m *member, n uint32) {
		h.eachBinding(n, func(name string) { h.transport(name, m.name) })
	}},
		apply, confirm, control, {"status read", each((*history).look)}, {"report", each((*history).report)},
		{"combination", func(h *history, _ *member, n uint32) { h.eachBinding(n, h.combine) }}}
}

// eachBinding does something for some of the names that BindingPolicies, Bindings or ManifestWorks have.
func (h *history) eachBinding(mask uint32, do func(string)) {
	names := map[string]bool{}
	for _, p := range slices.Concat(h.hub.list(bindingPolicyKind), h.hub.list(bindingKind), h.space.list(manifestWorkKind)) {
		names[p.GetName()] = true
	}
	for i, name := range sortedNames(names) {
		if mask>>(i%32)&1 == 1 {
			do(name)
		}
	}
}

// step is one link for one cluster.
func (h *history) step(x action) {
	if h.together {
		h.chain(x.b)
		return
	}
	links := h.links()
	l := links[int(x.a)%len(links)]
	for i, name := range sortedNames(h.members) {
		if x.b>>i&1 == 1 {
			h.link(l, h.members[name], x.c|x.c>>5)
		}
	}
}

// chain is the whole chain for some clusters, so often that everything comes to rest.
func (h *history) chain(mask uint32) {
	h.chainUpTo(mask, len(h.links()))
	h.chainUpTo(mask, len(h.links()))
}

// chainUpTo is the first links of the chain for some clusters.
func (h *history) chainUpTo(mask uint32, n int) {
	links := h.links()
	if n = min(n, len(links)); h.together {
		n = len(links)
	}
	for _, l := range links[:n] {
		for i, name := range sortedNames(h.members) {
			if mask>>i&1 == 1 {
				h.link(l, h.members[name], ^uint32(0))
			}
		}
	}
}

// pick returns a cluster.
func (h *history) pick(n uint32) *member {
	names := sortedNames(h.members)
	return h.members[names[int(n)%len(names)]]
}

// use is what users and clusters do.
func (h *history) use(x action) {
	switch x.kind {
	case "push":
		h.pushSome(x)
	case "badpush": // something is wrong with the new version, somewhere or everywhere
		h.pushSome(x)
		v, m := h.source(), h.pick(x.b)
		h.health[[]string{fmt.Sprint("web", v.web), fmt.Sprint(m.name, "web", v.web)}[x.c>>4%2]] = []health{_ill, _ill, _slow, _flapping}[x.c>>8%4]
	case "health":
		m, is := h.pick(x.a), []health{well, _ill, _ill, _slow, _flapping, well}[x.b%6]
		v := h.pushed[int(x.c)%len(h.pushed)]
		h.health[[]string{fmt.Sprint("web", v.web), fmt.Sprint(m.name, "web", v.web), m.name}[x.c>>4%3]] = is
		h.note("health of %s in %s: %d", v, m.name, is)
	case "edit", "pause":
		h.edit(x)
	case "approve", "oldapproval":
		h.approve(x)
	case "retry":
		s := h.status()
		for _, rec := range s.Stages {
			if rec.Phase != v1alpha1.Pending || x.b%4 == 0 {
				h.retry(rec.Name, s.Wanted, x.kind == "retry" && x.a%4 == 0)
			}
		}
	case "label":
		m := h.pick(x.a)
		m.labels = map[string]any{"env": []string{"a", "b", "c", "none"}[x.b%4], "name": m.name}
		if x.c%3 == 0 {
			m.labels["tier"] = "t"
		}
		h.moved(m)
		if x.c>>8%3 == 0 { // and the source changes before a player has a turn: the old placement may still keep the cluster
			h.pushSome(action{"push", x.a | 1, x.b >> 2, x.c >> 4})
			h.health[fmt.Sprint(m.name, "web", h.source().web)] = []health{_ill, well}[x.c>>16%2]
		}
	case "join":
		if name := fmt.Sprint("j", h.steps); len(h.members) < 7 {
			breaks := x.c>>8%2 == 0
			env := rune(x.b % 3)
			if breaks && x.b>>2%4 > 0 {
				env = 0 // a new version begins there
			}
			h.join(name, string('a'+env), x.c%3 == 0)
			h.moved(h.members[name])
			if breaks {
				h.cutOff(h.members[name], x)
			}
		}
	case "leave":
		if m := h.pick(x.a); len(h.members) > 3 {
			h.leave(m)
		}
	case "offline":
		m := h.pick(x.a)
		m.offline = !m.offline && x.b%2 == 0
	case "autoscale":
		h.autoscale(h.pick(x.a))
	case "heartbeat":
		m := h.pick(x.a)
		m.beat++
		for _, name := range sortedNames(m.read) {
			h.report(m, name)
		}
	case "noop":
		if web := h.hub.get(deploymentKind, "shop", "web"); web != nil {
			h.hub.setStatus(web, map[string]any{"touched": int64(h.steps)})
		}
	case "backup":
		h.hubs, h.spaces = append(h.hubs, h.hub.backup()), append(h.spaces, h.space.backup())
	case "restore":
		h.restore(x)
	case "again":
		h.again(x)
	case "foreign":
		h.foreign(x)
	}
}

// cutOff is a network that breaks while a new version is delivered to the clusters of a stage, and a cluster that
// joins the stage in the middle of that: both deliveries take long, and have begun at different times.
func (h *history) cutOff(joined *member, x action) {
	env, tier := joined.labels["env"], joined.labels["tier"]
	delete(h.members, joined.name)
	for _, name := range sortedNames(h.members) {
		if m := h.members[name]; m.labels["env"] == env || m.labels["tier"] != nil && m.labels["tier"] == tier {
			m.offline = true
		}
	}
	a := h.actors[int(x.a)%len(h.actors)]
	pass := func(seconds uint32) {
		for range 3 {
			h.chain(^uint32(0))
			h.turn(a, ^uint32(0))
			h.now = h.now.Add(time.Duration(seconds) * time.Second / 3)
		}
	}
	h.pushSome(x)
	pass(9 + x.b>>4%6)
	h.members[joined.name], joined.offline = joined, true
	pass(9 + x.b>>8%6)
	pass(9 + x.b>>12%6)
}

// autoscale is an autoscaler that changes the number of replicas of what a cluster has.
func (h *history) autoscale(m *member) {
	h.note("an autoscaler changes %s", m.name)
	for _, o := range m.objects {
		o.generation++
	}
}

// pushSome pushes a new version, or an old one again.
func (h *history) pushSome(x action) {
	v := h.source()
	newest := version{}
	for _, old := range h.pushed {
		newest = version{max(newest.web, old.web), max(newest.api, old.api)}
	}
	switch {
	case x.a%4 == 0:
		v = h.pushed[int(x.b)%len(h.pushed)]
		if v.api == 0 && h.source().api > 0 { // objects do not go in the model's source
			return
		}
	case x.b%3 == 0 && v.api > 0:
		v.api = newest.api + 1
	case x.b%3 == 1 && v.api > 0:
		v.web, v.api = newest.web+1, newest.api+1
	default:
		v.web = newest.web + 1
	}
	h.push(v, x.c%4 > 0)
}

func (h *history) edit(x action) {
	d := int(x.a) % len(h.designs)
	switch {
	case x.kind == "edit" && x.b%3 == 0: // there and back
		was := h.design
		h.editTo(d)
		h.turn(h.actors[int(x.c)%len(h.actors)], ^uint32(0))
		d = was
	case x.kind == "pause":
		d = h.design
		h.designs = slices.Clone(h.designs)
		h.designs[d].paused = !h.designs[d].paused
	}
	h.editTo(d)
}

func (h *history) editTo(d int) {
	h.design = d
	h.writePolicy()
	h.edited(h.designs[d])
}

// approve approves what a status asks for now, or what one has asked for once.
func (h *history) approve(x action) {
	s := h.status()
	for _, rec := range s.Stages {
		if rec.Awaiting == nil {
			continue
		}
		ticket := rec.Awaiting.Ticket
		switch {
		case x.kind == "oldapproval" && len(h.tickets) > 0:
			ticket = sortedNames(h.tickets)[int(x.b)%len(h.tickets)]
		case x.kind == "oldapproval":
			ticket = "somebody"
		}
		h.annotate(v1alpha1.ApprovalPrefix+rec.Awaiting.Gate+"."+rec.Name, fmt.Sprintf("%s who%d", ticket, h.steps))
		h.note("approved %s of %s: %s", rec.Awaiting.Gate, rec.Name, ticket)
	}
}

// retry asks for another attempt, by the name of the wanted revision or by another one.
func (h *history) retry(stage, wanted string, other bool) {
	if other {
		wanted = "r9-000000000000"
	} else if wanted == "" {
		wanted = "first"
	}
	h.annotate(v1alpha1.RetryPrefix+stage, fmt.Sprintf("%s %d", wanted, h.steps))
	if !other {
		h.retried(stage)
	}
}

// leave takes a cluster out of the inventory, with its namespace.
func (h *history) leave(m *member) {
	delete(h.members, m.name)
	for _, server := range []*apiServer{h.hub, h.space} {
		for _, k := range server.sorted() {
			if k.name.Namespace == m.name || k.name.Name == "web-"+m.name {
				server.remove(server.objects[k])
			}
		}
	}
}

// restore goes back to a backup of the hub, the space, both, or the policy alone.
func (h *history) restore(x action) {
	if len(h.hubs) == 0 {
		return
	}
	n, bump := int(x.a)%len(h.hubs), x.b%2 == 0
	switch x.c % 4 {
	case 0:
		old := h.hubs[n].objects[key{stagedPolicyKind, nameS}]
		if old == nil {
			return
		}
		next := old.DeepCopy()
		next.SetUID(h.policy().GetUID())
		next.SetGeneration(h.policy().GetGeneration() + 1)
		h.designOf[next.GetGeneration()] = h.designAt(old.GetGeneration())
		h.hub.put(next, "status")
		h.restored("the policy", statusOf(old))
	case 1:
		h.hub.restore(h.hubs[n], bump)
		h.restored("the hub", h.status())
	case 2:
		if h.kind != overSpace {
			return
		}
		h.space.restore(h.spaces[n], bump)
		h.restored("the space", h.status())
	default:
		if h.hub.restore(h.hubs[n], bump); h.kind == overSpace {
			h.space.restore(h.spaces[n], bump)
		}
		h.restored("everything", h.status())
	}
	for _, m := range h.members { // agents begin again
		m.applied = map[string]int64{}
	}
	if h.kind == overArgo {
		for _, m := range h.members {
			if h.hub.get(applicationKind, "argocd", "web-"+m.name) == nil {
				h.hub.setSpec(object(applicationKind, "argocd", "web-"+m.name, map[string]any{"spec": map[string]any{"source": map[string]any{"repoURL": "https://example.org/web.git"}}}))
			}
		}
	}
	h.designs = append(slices.Clone(h.designs), h.designAt(h.policy().GetGeneration())) // what the restored spec says
	h.design = len(h.designs) - 1
}

// again is deletion of the policy with its placements kept, and creation of it.
func (h *history) again(x action) {
	if x.a%6 > 0 {
		return
	}
	old := h.policy()
	h.hub.remove(old)
	h.designOf = map[int64]design{}
	annotations := old.GetAnnotations()
	h.writePolicy()
	for name, value := range annotations {
		if strings.HasPrefix(name, "source.") {
			h.annotate(name, value)
		}
	}
	h.restored("again", v1alpha1.Status{})
}

// foreign makes a BindingPolicy of somebody else for the same objects, or removes it.
func (h *history) foreign(x action) {
	if h.kind != overHub && h.kind != overSpace {
		return
	}
	p := h.hub.get(bindingPolicyKind, "", "other")
	switch {
	case p == nil:
		spec := map[string]any{"clusterSelectors": []any{map[string]any{"matchLabels": map[string]any{"env": string(rune('a' + x.b%3))}}},
			"downsync": []any{map[string]any{"createOnly": true, "objectSelectors": []any{map[string]any{"matchLabels": map[string]any{"app": "web"}}}}}}
		h.hub.setSpec(object(bindingPolicyKind, "", "other", map[string]any{"spec": spec}))
		h.note("somebody else places the workload")
		h.others = true
	case p != nil && p.GetDeletionTimestamp() == nil:
		h.hub.terminate(p)
	}
}
