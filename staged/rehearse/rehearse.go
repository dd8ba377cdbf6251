package rehearse

import (
	"cmp"
	"context"
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
	// Explain adds what the rollout waits for to the timeline, when it begins to.
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
	bindings []*control.Binding        // of the policies on the hub
	fresh    map[string]bool           // of these, those that the rollout has not seen
	heard    map[staged.ObjectRef]bool // objects of which a report came that the rollout has not seen
	timeline *Timeline
	recheck  time.Time
	said     map[string]bool // what the rollout was said to wait for the last time
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
		fresh: map[string]bool{}, heard: map[staged.ObjectRef]bool{}, timeline: &Timeline{Policy: in.Policy.Name, Start: in.Start}}
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
