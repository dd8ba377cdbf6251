package rehearse

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// Input is what is rehearsed, and where.
type Input struct {
	Policy v1alpha1.StagedBindingPolicy
	// Compile are the options that the policy is compiled with.
	Compile staged.Options
	// Collectors are those that exist, with those that the policy names among them.
	Collectors []control.StatusCollector
	// Objects are on the hub, the workload among them, and the definitions of custom resources, which all clusters have too. A kind without a definition
	// that no API server has of its own is taken for one with a status, namespaced if the object has a namespace. Other objects
	// that need a namespace and have none are in "default".
	Objects  []*unstructured.Unstructured
	Clusters []Cluster
	// Stages are what objects do in a cluster without a script; nil: nothing.
	Stages *stage.Set
	// Latency is how long it takes until the hub sees a change in a cluster.
	Latency time.Duration
	// Approvals are given at a time after the start: before.<stage> and after.<stage>.
	Approvals map[string]time.Duration
	Seed      uint64
	// Start is when it begins. Default 2006-01-02T15:04:05Z.
	Start time.Time
	// Longest is how long it may take. Default a day.
	Longest time.Duration
	// Explain adds what the rollout waits for to the timeline.
	Explain bool
}

// A Cluster receives the workload of stages whose selectors match its labels. For a stage with maxConcurrency it needs its name as a label, too: see
// staged.Options.ClusterLabel.
type Cluster struct {
	Name   string
	Labels map[string]string
	// Script is what the objects of the workload show as their status, in place of what Input.Stages do with them. Nil: none.
	Script []Status
	// Latency is that of this cluster. Default Input.Latency.
	Latency time.Duration
	// Silent says that it never reports.
	Silent bool
}

// A Status is shown by an object some time after it came to a cluster.
type Status struct {
	After time.Duration
	// Kind is that of the objects that show it; "": all that have a status.
	Kind   string
	Status map[string]any
}

// Run rehearses until the rollout has succeeded, nothing is left to happen, or Input.Longest has passed. Faults of the Input are returned all at
// once: those of the policy as [staged.Errors], others as [Errors]. Any other error is that of a Stage or an object which a cluster refuses, or of ctx.
func Run(ctx context.Context, in Input) (*Timeline, error) {
	in.Longest = cmp.Or(in.Longest, 24*time.Hour)
	if in.Start.IsZero() {
		in.Start = time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)
	}
	w, err := in.prepare()
	if err != nil {
		return nil, err
	}
	r, err := newRun(in, w)
	if err != nil {
		return nil, err
	}
	if err := r.play(ctx); err != nil {
		return nil, err
	}
	if err := r.lint(ctx); err != nil {
		return nil, err
	}
	return r.timeline, nil
}

// A run is a rehearsal under way.
type run struct {
	in       Input
	workload workload
	now      time.Time
	policy   *staged.Policy
	rollout  *staged.Rollout
	object   v1alpha1.StagedBindingPolicy
	hub      hub
	clusters []*cluster
	timeline *Timeline
	recheck  time.Time
	said     string
	done     bool
	more     time.Time // when something would have happened that was too late for the rehearsal; zero: never
}

// newRun begins a rehearsal of an Input without faults.
func newRun(in Input, w workload) (*run, error) {
	policies, err := staged.Compile(in.Compile, staged.Object(in.Policy))
	if err != nil {
		return nil, err
	}
	r := &run{in: in, workload: w, now: in.Start, policy: policies[0], rollout: staged.NewRollout(policies[0]), object: in.Policy,
		timeline: &Timeline{Policy: in.Policy.Name, Start: in.Start}}
	r.object.Status = v1alpha1.Status{}
	r.hub = hub{objects: w.objects, policies: map[string]*control.BindingPolicy{}, collectors: map[string]*kubestellar.Collector{},
		labels: map[string]map[string]string{}}
	for _, c := range in.Collectors {
		if r.hub.collectors[c.Name], err = kubestellar.Compile(c.Spec); err != nil {
			return nil, err
		}
	}
	return r, r.addClusters()
}

func (r *run) addClusters() error {
	for _, c := range slices.SortedFunc(slices.Values(r.in.Clusters), func(a, b Cluster) int { return cmp.Compare(a.Name, b.Name) }) {
		simulated, err := newCluster(c, &r.in, r.workload)
		if err != nil {
			return err
		}
		r.clusters = append(r.clusters, simulated)
		r.hub.members = append(r.hub.members, simulated.member)
		r.hub.labels[c.Name] = labelsOf(c.Labels)
	}
	return nil
}

// labelsOf are labels that are known, even if there are none.
func labelsOf(labels map[string]string) map[string]string {
	if labels == nil {
		return map[string]string{}
	}
	return labels
}

// play goes from one thing that happens to the next.
func (r *run) play(ctx context.Context) error {
	for {
		if err := r.instant(ctx); err != nil {
			return err
		}
		next := r.next()
		if r.done || next.IsZero() || ctx.Err() != nil {
			return ctx.Err()
		}
		if next.Sub(r.in.Start) > r.in.Longest {
			r.more = next
			return nil
		}
		r.now = next
	}
}

// instant lets everything happen that happens now.
func (r *run) instant(ctx context.Context) error {
	for range 100 {
		for _, c := range r.clusters {
			if err := c.advance(ctx, r.now); err != nil {
				return err
			}
		}
		moved, err := r.decide(ctx)
		if err != nil {
			return err
		}
		if !moved {
			return nil
		}
	}
	return fmt.Errorf("at %s: the rollout does not come to rest", r.now.Sub(r.in.Start))
}

// next is when something happens; zero if nothing will.
func (r *run) next() (next time.Time) {
	times := []time.Time{r.recheck}
	for _, c := range r.clusters {
		times = append(times, c.next())
	}
	for _, after := range r.in.Approvals {
		times = append(times, r.in.Start.Add(after))
	}
	for _, t := range times {
		if t.After(r.now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	return next
}

// decide makes one decision and carries it out. It reports whether that changed anything.
func (r *run) decide(ctx context.Context) (moved bool, err error) {
	r.approve()
	if err := r.observe(); err != nil {
		return false, err
	}
	if r.in.Explain {
		r.explain()
	}
	d := r.rollout.Decide(r.object.Status, r.now)
	r.recheck = time.Time{}
	if d.RecheckAfter > 0 {
		r.recheck = r.now.Add(d.RecheckAfter)
	}
	r.compare(d)
	moved = !r.sameStage(d)
	r.object.Status = d.Status
	for _, p := range d.Ensure {
		if r.hub.ensure(p) {
			moved = true
			r.say(Entry{Policy: p.Name, Text: textCreated})
		}
	}
	for _, name := range d.Remove {
		moved = true
		delete(r.hub.policies, name)
		r.rollout.ForgetPolicy(name)
		r.rollout.ForgetBinding(name)
		r.say(Entry{Policy: name, Text: textRemoved})
	}
	return moved, r.place(ctx)
}

func (r *run) sameStage(d staged.Decision) bool {
	before, after := r.object.Status, d.Status
	return before.ActiveStage == after.ActiveStage && fmt.Sprint(phases(before)) == fmt.Sprint(phases(after))
}

// phases are those of the stages, with their batches.
func phases(s v1alpha1.Status) (all []string) {
	for _, st := range s.Stages {
		all = append(all, fmt.Sprint(st.Phase, st.Batch))
	}
	return all
}

func (r *run) approve() {
	meta := r.object.ObjectMeta
	meta.Annotations = maps.Clone(meta.Annotations)
	for key, after := range r.in.Approvals {
		if !r.now.Before(r.in.Start.Add(after)) {
			if meta.Annotations == nil {
				meta.Annotations = map[string]string{}
			}
			meta.Annotations[staged.ApprovalPrefix+key] = "rehearsal"
		}
	}
	r.object.ObjectMeta = meta
}

// observe shows the rollout what is on the hub.
func (r *run) observe() error {
	r.rollout.Update(r.policy, r.object.ObjectMeta)
	r.rollout.ObserveClusters(r.hub.labels)
	bindings, err := r.hub.bindings()
	for _, b := range bindings {
		r.rollout.ObservePolicy(r.hub.policies[b.Name])
		r.rollout.ObserveBinding(b)
		for _, clause := range clauses(b) {
			r.rollout.ObserveReport(r.hub.report(b, refOf(clause)))
			if status, ok := r.hub.combine(b, refOf(clause)); ok {
				r.rollout.ObserveStatus(status)
			}
		}
	}
	return err
}

// place brings the workload to where it belongs now.
func (r *run) place(ctx context.Context) error {
	bindings, err := r.hub.bindings()
	if err != nil {
		return err
	}
	err = r.hub.place(ctx, bindings, r.now, func(cluster, text string) { r.say(Entry{Cluster: cluster, Text: text}) })
	for _, c := range r.clusters {
		c.begin()
	}
	return err
}
