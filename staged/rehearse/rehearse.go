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
	Policy     v1alpha1.StagedBindingPolicy
	Collectors []control.StatusCollector
	// Objects are on the hub, the workload among them.
	Objects  []*unstructured.Unstructured
	Clusters []Cluster
	// Stages are what objects do in a cluster; nil: only what its script says.
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

// A Cluster receives the workload of stages whose selectors match its labels.
type Cluster struct {
	Name   string
	Labels map[string]string
	// Script is what the objects of the workload show as their status, in order of time.
	Script []Status
	// Silent says that it never reports.
	Silent bool
}

// A Status is shown by an object some time after it came to a cluster.
type Status struct {
	After  time.Duration
	Status map[string]any
}

// Run rehearses until the rollout has succeeded, nothing is left to happen, or Input.Longest has passed. The error is one of the Input, or of ctx.
func Run(ctx context.Context, in Input) (*Timeline, error) {
	r, err := newRun(in)
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
	in         Input
	now        time.Time
	policy     *staged.Policy
	rollout    *staged.Rollout
	object     v1alpha1.StagedBindingPolicy
	collectors map[string]*kubestellar.Collector
	hub        hub
	clusters   []*cluster
	timeline   *Timeline
	recheck    time.Time
	firsts     map[string]time.Duration // when each cluster reported first
	said       string
	done       bool
}

func newRun(in Input) (*run, error) {
	in.Longest = cmp.Or(in.Longest, 24*time.Hour)
	if in.Start.IsZero() {
		in.Start = time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)
	}
	policies, err := staged.Compile(staged.Options{}, staged.Object(in.Policy))
	if err != nil {
		return nil, err
	}
	r := &run{in: in, now: in.Start, policy: policies[0], rollout: staged.NewRollout(policies[0]), firsts: map[string]time.Duration{}, object: in.Policy,
		collectors: map[string]*kubestellar.Collector{}, timeline: &Timeline{Start: in.Start}}
	r.object.Status = v1alpha1.Status{}
	if r.hub, err = newHub(in); err != nil {
		return nil, err
	}
	for _, c := range in.Collectors {
		if r.collectors[c.Name], err = kubestellar.Compile(c.Spec); err != nil {
			return nil, fmt.Errorf("StatusCollector %s: %w", c.Name, err)
		}
	}
	for _, c := range in.Clusters {
		member, err := newCluster(c, in)
		if err != nil {
			return nil, err
		}
		r.clusters = append(r.clusters, member)
	}
	slices.SortFunc(r.clusters, func(a, b *cluster) int { return cmp.Compare(a.Name, b.Name) })
	return r, nil
}

// play goes from one thing that happens to the next.
func (r *run) play(ctx context.Context) error {
	for {
		if err := r.instant(ctx); err != nil {
			return err
		}
		next := r.next()
		if r.done || next.IsZero() || next.Sub(r.in.Start) > r.in.Longest {
			return ctx.Err()
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
		r.report()
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
	r.observe()
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

// place sees that each cluster has the objects that Bindings send there, and no others.
func (r *run) place(ctx context.Context) error {
	bindings, err := r.hub.bindings()
	if err != nil {
		return err
	}
	for _, c := range r.clusters {
		wanted := map[staged.ObjectRef]bool{}
		for _, b := range bindings {
			if slices.ContainsFunc(b.Spec.Destinations, func(d control.Destination) bool { return d.ClusterID == c.Name }) {
				for _, clause := range slices.Concat(b.Spec.Workload.ClusterScope, b.Spec.Workload.NamespaceScope) {
					wanted[refOf(clause)] = true
				}
			}
		}
		if err := c.place(ctx, r, wanted); err != nil {
			return err
		}
	}
	return nil
}

func refOf(c control.DownsyncClause) staged.ObjectRef {
	return staged.ObjectRef{Group: c.Group, Resource: c.Resource, Namespace: c.Namespace, Name: c.Name}
}
