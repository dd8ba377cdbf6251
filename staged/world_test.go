package staged_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// A world is a hub with KubeStellar, its clusters and a policy, without any goroutine: what is
// reported and what is decided happens when a test says so.
type world struct {
	t          testing.TB
	policy     *staged.Policy
	meta       metav1.ObjectMeta
	status     v1alpha1.Status
	now        time.Time
	policies   map[string]*control.BindingPolicy
	created    int // counts uids
	objects    []kubestellar.Object
	clusters   map[string]map[string]string
	available  map[string]int64 // replicas, by cluster; absent: not reported
	boundAt    time.Time        // if set, it is known when clusters report
	returned   map[string]time.Time
	collectors map[string]*kubestellar.Collector
	last       bindingpolicy.Decision
	consents   map[string]string // who approves a gate as soon as a ticket is shown
	versions   int               // of the StagedBindingPolicy
	extend     func(*bindingpolicy.Observation)
	log        []string
}

const policyHead = `apiVersion: community.kubestellar.io/v1alpha1
kind: StagedBindingPolicy
metadata: {name: s}
spec:
  downsync: [{statusCollectors: [agg], objectSelectors: [{matchLabels: {app: web}}]}]
`

// twoStages is dev, then prod, with more fields of dev; they win over the fields here.
func twoStages(fields string) string {
	for _, line := range []string{"    condition: num('sum') == 1\n", "    clusterSelectors: [{matchLabels: {env: dev}}]\n"} {
		if key, _, _ := strings.Cut(line, ":"); !strings.Contains("\n"+fields, "\n"+key+":") {
			fields = line + fields
		}
	}
	return policyHead + "  stages:\n  - name: dev\n" + fields + "  - name: prod\n    clusterSelectors: [{matchLabels: {env: prod}}]\n"
}

// fields is text for twoStages: lines of the definition of a stage.
func fields(lines ...string) string {
	return "    " + strings.Join(lines, "\n    ") + "\n"
}

// endStage is a third stage.
const endStage = `  - name: end
    clusterSelectors: [{matchLabels: {env: prod}}]
`

func compile(t testing.TB, text string) *staged.Policy {
	t.Helper()
	policies, err := staged.Compile(staged.Options{}, staged.Parse("policy.yaml", []byte(text)))
	require.NoError(t, err)
	require.Len(t, policies, 1)
	return policies[0]
}

// aggregator is the StatusCollector of all worlds.
var aggregator = sync.OnceValues(func() (*kubestellar.Collector, error) {
	sum := "returned.status.availableReplicas"
	return kubestellar.Compile(control.StatusCollectorSpec{CombinedFields: []control.NamedAggregator{{Name: "sum", Type: "SUM", Subject: &sum}}})
})

func newWorld(t testing.TB, text string) *world {
	t.Helper()
	return worldOf(t, compile(t, text))
}

func worldOf(t testing.TB, p *staged.Policy) *world {
	t.Helper()
	agg, err := aggregator()
	require.NoError(t, err)
	return &world{
		t: t, policy: p, meta: metav1.ObjectMeta{Name: "s", UID: "sbp", Generation: 1}, now: start,
		policies: map[string]*control.BindingPolicy{}, available: map[string]int64{}, returned: map[string]time.Time{},
		objects: []kubestellar.Object{deployment("web")},
		clusters: map[string]map[string]string{
			"dev1":  {"env": "dev", "name": "dev1"},
			"prod1": {"env": "prod", "name": "prod1"},
			"prod2": {"env": "prod", "name": "prod2"},
		},
		collectors: map[string]*kubestellar.Collector{"agg": agg},
	}
}

func deployment(name string) kubestellar.Object {
	return kubestellar.Object{
		Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: name,
		Labels: map[string]string{"app": "web"}, ResourceVersion: "1",
	}
}

// observe shows all that exists. KubeStellar is as fast as can be.
func (w *world) observe() bindingpolicy.Observation {
	seen := bindingpolicy.Observation{Meta: w.meta, Clusters: w.clusters}
	for _, name := range slices.Sorted(maps.Keys(w.policies)) {
		p := w.policies[name]
		seen.BindingPolicies = append(seen.BindingPolicies, p)
		b, err := kubestellar.Resolve(p, kubestellar.Inventory{Objects: w.objects, Clusters: w.clusters})
		require.NoError(w.t, err)
		seen.Bindings = append(seen.Bindings, b)
		for _, obj := range w.objects {
			in := kubestellar.Input{
				Binding: b, Object: stored(obj), Resource: obj.Resource, Collectors: w.collectors,
				Reports: map[string]kubestellar.Report{},
			}
			for cluster, n := range w.available {
				in.Reports[cluster] = kubestellar.Report{Status: map[string]any{"availableReplicas": n}, LastUpdate: w.returned[cluster]}
			}
			if status, ok := kubestellar.Combine(kubestellar.Upstream, in); ok {
				seen.Statuses = append(seen.Statuses, status)
			}
			if !w.boundAt.IsZero() {
				seen.Reports = append(seen.Reports, w.report(name, obj))
			}
		}
	}
	if w.extend != nil {
		w.extend(&seen)
	}
	return seen
}

func (w *world) report(policy string, obj kubestellar.Object) bindingpolicy.Report {
	ref := fleet.ObjectRef{Group: obj.Group, Resource: obj.Resource, Namespace: obj.Namespace, Name: obj.Name}
	r := bindingpolicy.Report{BindingPolicy: policy, Object: ref}
	for cluster := range w.available {
		r.Clusters = append(r.Clusters, fleet.ClusterReport{
			Cluster: cluster, Reported: true, LastReturned: w.returned[cluster], BoundAt: w.boundAt,
		})
	}
	return r
}

func stored(o kubestellar.Object) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": o.Group + "/" + o.Version, "kind": "Deployment",
		"metadata": map[string]any{"name": o.Name, "namespace": o.Namespace, "uid": "uid-" + o.Name},
	}}
}

// decide decides, checks what holds of every decision, and carries it out: all of it, or the first
// steps.
func (w *world) decide(steps ...int) bindingpolicy.Decision {
	w.t.Helper()
	w.consent()
	seen := w.observe()
	d := bindingpolicy.Decide(w.policy, w.status, seen, w.now)
	again := bindingpolicy.Decide(w.policy, d.Status, seen, w.now)
	require.Equal(w.t, d.Status, again.Status, "deciding again changes nothing")
	require.Equal(w.t, d.Ensure, again.Ensure)
	require.Equal(w.t, d.Remove, again.Remove)
	require.Empty(w.t, again.Events, "nothing happens twice")
	w.last = d
	limit := 1 << 30
	if len(steps) > 0 {
		limit = steps[0]
	}
	for i, do := range w.actions(d) {
		if i >= limit {
			break
		}
		had := len(w.policies)
		do()
		require.False(w.t, had > 0 && len(w.policies) == 0, "there is always a policy")
	}
	return d
}

// actions are the writes of a decision, in order.
func (w *world) actions(d bindingpolicy.Decision) []func() {
	actions := []func(){func() {
		if d.Status.ActiveStage != w.status.ActiveStage {
			w.logf("active %s", d.Status.ActiveStage)
		}
		if fmt.Sprint(w.status) != fmt.Sprint(d.Status) {
			w.versions++
			w.meta.ResourceVersion = fmt.Sprint(w.versions)
		}
		w.status = d.Status
	}}
	for _, p := range d.Ensure {
		actions = append(actions, func() { w.ensure(p) })
	}
	for _, name := range d.Remove {
		actions = append(actions, func() {
			delete(w.policies, name)
			w.logf("delete %s", name)
		})
	}
	return actions
}

func (w *world) ensure(p *control.BindingPolicy) {
	stored := *p
	if old := w.policies[p.Name]; old != nil {
		stored.UID = old.UID
	} else {
		w.created++
		stored.UID = types.UID(fmt.Sprintf("%s-%d", p.Name, w.created))
		w.logf("create %s", p.Name)
	}
	w.policies[p.Name] = &stored
}

func (w *world) logf(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

// settle decides until nothing changes any more.
func (w *world) settle() bindingpolicy.Decision {
	w.t.Helper()
	for range 20 {
		before, had := w.status, len(w.policies)
		d := w.decide()
		if fmt.Sprint(before) == fmt.Sprint(w.status) && had == len(w.policies) && len(d.Remove) == 0 {
			return d
		}
	}
	w.t.Fatalf("does not settle: %+v", w.status)
	return bindingpolicy.Decision{}
}

func (w *world) exist() []string { return slices.Sorted(maps.Keys(w.policies)) }

func (w *world) phase(stage string) v1alpha1.Phase {
	for _, s := range w.status.Stages {
		if s.Name == stage {
			return s.Phase
		}
	}
	return ""
}

func (w *world) holds(condition string) bool {
	for _, c := range w.status.Conditions {
		if c.Type == condition {
			return c.Status == metav1.ConditionTrue
		}
	}
	return false
}

// pass lets time pass, while decisions are made whenever one is due.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	end := w.now.Add(d)
	for {
		w.settle()
		if w.last.RecheckAfter == 0 || !w.now.Add(w.last.RecheckAfter).Before(end) {
			break
		}
		w.now = w.now.Add(w.last.RecheckAfter)
	}
	w.now = end
}

// sleep lets time pass without decisions.
func (w *world) sleep(d time.Duration) { w.now = w.now.Add(d) }

// approve lets alice approve a gate, with the ticket that the status shows.
func (w *world) approve(key string) { w.approveAs(key, "alice") }

func (w *world) approveAs(key, who string) {
	consents := maps.Clone(w.consents)
	if consents == nil {
		consents = map[string]string{}
	}
	consents[key] = who
	w.consents = consents
}

// consent writes the annotations of the people who approve.
func (w *world) consent() {
	for _, s := range w.status.Stages {
		if a := s.Awaiting; a != nil && w.consents[a.Gate+"."+s.Name] != "" {
			w.annotate(v1alpha1.ApprovalPrefix+a.Gate+"."+s.Name, a.Ticket+" "+w.consents[a.Gate+"."+s.Name])
			delete(w.consents, a.Gate+"."+s.Name)
		}
	}
}

func (w *world) annotate(key, value string) {
	annotations := maps.Clone(w.meta.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	w.meta.Annotations = annotations
	w.versions++
	w.meta.ResourceVersion = fmt.Sprint(w.versions)
}

// retry asks for another attempt of a stage.
func (w *world) retry(stage string) {
	name := "first"
	for _, r := range w.status.Revisions {
		if r.ID == w.status.Wanted {
			name = r.Name
		}
	}
	w.annotate(v1alpha1.RetryPrefix+stage, fmt.Sprint(name, " ", w.versions))
}
