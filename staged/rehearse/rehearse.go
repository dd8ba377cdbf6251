package rehearse

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// Input is what is rehearsed, and where.
type Input struct {
	Policy v1alpha1.StagedBindingPolicy
	// Others are further policies on the same hub. They are played too; lints are about Policy.
	Others []v1alpha1.StagedBindingPolicy
	// Compile are the options that the policy is compiled with.
	Compile staged.Options
	// Collectors are the StatusCollectors that exist. All that the policy names must be among them.
	Collectors []control.StatusCollector
	// Objects are the objects on the hub: the workload, and CustomResourceDefinitions, which all
	// clusters have too. A kind that has no definition and is not built into API servers is taken
	// to have a status, and to be namespaced if the object has a namespace. Other objects that need
	// a namespace and have none are put into "default".
	Objects  []*unstructured.Unstructured
	Clusters []Cluster
	// Stages say what objects do in a cluster without a script; nil: nothing.
	Stages *stage.Set
	// Latency is how long a change of status in a cluster takes to reach the hub.
	Latency time.Duration
	// Approvals say how long after the start somebody approves; the keys are before.<stage> and
	// after.<stage>.
	Approvals map[string]time.Duration
	// Script is what users and clusters do meanwhile: edits, joins, leaves, new versions of the
	// workload, and whether there is a second player.
	Script Script
	Seed   uint64
	// Start is the time at which the rehearsal begins. Default 2006-01-02T15:04:05Z.
	Start time.Time
	// Longest is how long the rehearsal may take, in virtual time. Default a day.
	Longest time.Duration
	// Explain adds entries to the timeline that say what the rollout waits for, when that changes.
	Explain bool
}

// A Cluster receives the workload of stages whose selectors match its labels. For a stage with
// maxConcurrency it also needs its name as a label: see staged.Options.ClusterLabel.
type Cluster struct {
	Name   string
	Labels map[string]string
	// Script says which statuses the objects of the workload have and when. It replaces
	// Input.Stages in this cluster. Nil: there is no script.
	Script []Status
	// Latency is how long a status of this cluster takes to reach the hub. Default Input.Latency.
	Latency time.Duration
	// Silent says that the cluster never reports.
	Silent bool
	// Had says that the cluster has the workload from the start, from somewhere else.
	Had bool
}

// A Status is what objects have as their status from some time after they came to a cluster.
type Status struct {
	After time.Duration
	// Kind is the kind of the objects that get the status; "": all objects that have a status.
	Kind   string
	Status map[string]any
}

// Run rehearses until the rollout has succeeded, nothing more can happen, or Input.Longest has
// passed. It returns all faults of the Input at once: those of the policy as [staged.Errors],
// others as [Errors]. Other errors come from a cluster that refuses a Stage or an object, or from
// ctx.
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
	r.timeline.Clusters = r.histories()
	if err := r.lint(ctx); err != nil {
		return nil, err
	}
	return r.timeline, nil
}

// A run is the state of a rehearsal.
type run struct {
	in          Input
	workload    workload
	now         time.Time
	policies    []*policyRun // the first is that of Input.Policy
	hub         hub
	clusters    []*cluster
	bindings    []*control.Binding // of the BindingPolicies on the hub
	timeline    *Timeline
	startLabels map[string]map[string]string // of the clusters, at the start
	changes     []Change                     // that have not happened yet, by time
	moved       bool                         // a change has made new Bindings
	gates       []*unstructured.Unstructured // objects of the hub that stages name as gates
	applied     int                          // counts new versions of objects
	revisions   map[string]fleet.RevisionID  // of contents, by the versions of their objects
	seen        []fleet.RevisionID           // the revisions of Input.Policy that the hub has held, in order
	cutOff      time.Time                    // when the first thing after Input.Longest would have happened; zero: nothing
}

// A policyRun is one StagedBindingPolicy of a rehearsal, and its players.
type policyRun struct {
	*run

	policy      *staged.Policy
	rollout     *bindingpolicy.Rollout
	object      v1alpha1.StagedBindingPolicy
	newBindings map[string]bool          // names of Bindings that the rollout was not shown yet
	updated     map[fleet.ObjectRef]bool // objects with a report that the rollout was not shown yet
	recheck     time.Time
	lastLines   map[string]bool // the lines of the last explanation
	done        bool
	message     string
	version     int                   // of the StagedBindingPolicy: it grows with each write
	consents    map[string]string     // who approves a gate as soon as the rollout wants that
	asked       map[string]bool       // gates of stages that have waited for an approval
	past        []snapshot            // what the other players may see
	refused     map[time.Duration]int // the versions at which their last writes were refused, by lag
}

// main is the run of Input.Policy.
func (r *run) main() *policyRun { return r.policies[0] }

// newRun returns the run of an Input without faults.
func newRun(in Input, w workload) (*run, error) {
	policies, err := in.compile()
	if err != nil {
		return nil, err
	}
	r := &run{in: in, workload: w, now: in.Start, timeline: &Timeline{Policy: in.Policy.Name, Start: in.Start}, revisions: map[string]fleet.RevisionID{}}
	for _, p := range policies {
		one := &policyRun{run: r, policy: p, rollout: bindingpolicy.NewRollout(p), object: p.Definition(), version: 1,
			newBindings: map[string]bool{}, updated: map[fleet.ObjectRef]bool{}, consents: map[string]string{}, asked: map[string]bool{}, refused: map[time.Duration]int{}}
		one.object.Status = v1alpha1.Status{}
		r.policies = append(r.policies, one)
	}
	r.changes = slices.SortedStableFunc(slices.Values(in.Script.Changes), func(a, b Change) int { return cmp.Compare(a.After.Duration, b.After.Duration) })
	r.hub = hub{objects: w.objects, policies: map[string]*control.BindingPolicy{}, collectors: map[string]*kubestellar.Collector{},
		labels: map[string]map[string]string{}}
	for _, c := range in.Collectors {
		if r.hub.collectors[c.Name], err = kubestellar.Compile(c.Spec); err != nil {
			return nil, err
		}
	}
	err = r.addClusters()
	r.startLabels = r.hub.labels
	r.noteRevision()
	return r, err
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
		if c.Had {
			if err := r.install(simulated); err != nil {
				return err
			}
		}
	}
	return nil
}

// install gives a cluster the workload of Input.Policy before anything is placed.
func (r *run) install(c *cluster) error {
	c.had = true
	for _, ref := range sorted(r.hub.objects) {
		if _, chosen := clauseOf(r.in.Policy.Spec.Downsync, ref, r.hub.objects[ref], r.hub.inventory().Namespaces); !chosen {
			continue
		}
		if _, err := c.write(context.Background(), wantedObject{object: r.hub.objects[ref]}); err != nil {
			return err
		}
	}
	return nil
}

// labelsOf returns labels that are not nil: they are known, even without any.
func labelsOf(labels map[string]string) map[string]string {
	if labels == nil {
		return map[string]string{}
	}
	return labels
}
