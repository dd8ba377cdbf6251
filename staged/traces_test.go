package staged_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A trace is a scenario of traces.json: what the workload stager does, event by event.
type trace struct {
	Name                    string
	StagedBindingPolicy     v1alpha1.StagedBindingPolicy
	ExistingBindingPolicies []string
	UpstreamTrace           []string
}

// A replay plays the events of a trace. They carry names only, so the objects that they stand for
// are built here.
type replay struct {
	t          *testing.T
	definition v1alpha1.StagedBindingPolicy
	rollout    *bindingpolicy.Rollout
	policies   map[string]*control.BindingPolicy
	bindings   map[string]*control.Binding
	statuses   map[string]*control.CombinedStatus
	status     v1alpha1.Status
	values     []string // of the columns of the CombinedStatuses to come; then 1
	workload   control.Workload
	log        []string
}

func loadTraces(t *testing.T) []trace {
	data, err := os.ReadFile(filepath.Join(corpus, "traces.json"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the corpus is not here:", err)
	}
	require.NoError(t, err)
	var traces []trace
	require.NoError(t, json.Unmarshal(data, &traces))
	return traces
}

func TestTraces(t *testing.T) {
	traces := loadTraces(t)
	for _, tr := range traces {
		t.Run(tr.Name, func(t *testing.T) {
			want, known := scenarios[tr.Name]
			require.True(t, known)
			require.Equal(t, want.log, strings.Join(replayed(t, tr, want), "; "), want.differs)
		})
	}
	require.Len(t, scenarios, len(traces))
}

func replayed(t *testing.T, tr trace, s scenario) []string {
	r, err := newReplay(t, tr, s)
	if err != nil {
		var faults staged.Errors
		require.ErrorAs(t, err, &faults)
		return []string{"refused: " + slices.DeleteFunc(faults, func(e *staged.Error) bool { return e.Warning }).Error()}
	}
	r.play(eventsOf(tr))
	if r.status.Conditions[2].Status == metav1.ConditionTrue {
		r.log = append(r.log, "stalled "+r.status.Conditions[2].Reason)
	}
	if r.status.Conditions[4].Status == metav1.ConditionTrue {
		r.log = append(r.log, "succeeded")
	}
	return r.log
}

// newReplay is a replay before the first event. The error is that of the policy.
func newReplay(t *testing.T, tr trace, s scenario) (*replay, error) {
	tr.StagedBindingPolicy.Spec.Downsync[0].APIGroup = nil
	policies, err := staged.Compile(staged.Options{}, staged.Object(tr.StagedBindingPolicy))
	if err != nil {
		return nil, err
	}
	r := &replay{definition: tr.StagedBindingPolicy, t: t, rollout: bindingpolicy.NewRollout(policies[0]), policies: map[string]*control.BindingPolicy{},
		bindings: map[string]*control.Binding{}, statuses: map[string]*control.CombinedStatus{}, values: s.values, workload: s.workload()}
	r.status = tr.StagedBindingPolicy.Status
	for _, name := range tr.ExistingBindingPolicies {
		r.ensure(&control.BindingPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{
			Kind: v1alpha1.Kind, Name: "s", UID: tr.StagedBindingPolicy.UID,
		}}}})
	}
	r.log = nil
	return r, nil
}

// eventsOf are the events of a trace.
func eventsOf(tr trace) (events []string) {
	for _, line := range tr.UpstreamTrace {
		if event, ok := strings.CutPrefix(line, "> "); ok {
			events = append(events, event)
		}
	}
	return events
}

func (r *replay) play(events []string) {
	for _, event := range events {
		r.event(strings.Fields(event))
		r.decide()
	}
}

// A controller that is interrupted after any event of a trace and any of its writes, and starts
// again from the stored status and the objects on the hub, comes to the same end as one that was
// not.
func TestTracesCutAnywhere(t *testing.T) {
	for _, tr := range loadTraces(t) {
		t.Run(tr.Name, func(t *testing.T) {
			whole, err := newReplay(t, tr, scenarios[tr.Name])
			if err != nil {
				return // there is nothing to cut
			}
			events := eventsOf(tr)
			whole.play(events)
			for cut, event := range events {
				for writes := range 4 {
					r, err := newReplay(t, tr, scenarios[tr.Name])
					require.NoError(t, err)
					r.play(events[:cut])
					r.event(strings.Fields(event))
					all := r.writes()
					for _, write := range all[:min(writes, len(all))] {
						write()
					}
					r.restart()
					r.play(events[cut+1:])
					require.Equal(t, whole.status, r.status, "cut after %d events and %d writes", cut, writes)
					require.Equal(t, whole.policies, r.policies, "cut after %d events and %d writes", cut, writes)
				}
			}
		})
	}
}

// restart starts again from the objects that exist.
func (r *replay) restart() {
	policies, err := staged.Compile(staged.Options{}, staged.Object(r.definition))
	require.NoError(r.t, err)
	r.rollout = bindingpolicy.NewRollout(policies[0])
	r.rollout.Update(policies[0], r.definition.ObjectMeta)
	for _, p := range r.policies {
		r.rollout.ObserveBindingPolicy(p)
	}
	for _, b := range r.bindings {
		r.rollout.ObserveBinding(b)
	}
	for _, s := range r.statuses {
		r.rollout.ObserveStatus(s)
	}
	r.decide()
}

func (r *replay) event(words []string) {
	switch words[0] {
	case "user":
		r.definition.Generation++
		r.definition.Spec.Stages = slices.Clone(r.definition.Spec.Stages)
		r.definition.Spec.Stages[0].ClusterSelectors = []metav1.LabelSelector{{MatchLabels: map[string]string{"env": "dev2"}}}
		r.update()
	case "delete":
		r.definition.DeletionTimestamp = &metav1.Time{Time: start}
		r.update()
	case "Binding":
		if p := r.policies[words[2]]; p != nil {
			b := &control.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name, OwnerReferences: []metav1.OwnerReference{{UID: p.UID}}}}
			b.Spec.Workload, b.Spec.Destinations = r.workload, []control.Destination{{ClusterID: "c1"}}
			r.bindings[b.Name] = b
			r.rollout.ObserveBinding(b)
		}
	case "CombinedStatus":
		s := r.combined(words[2], words[3], r.next())
		r.statuses[s.Name] = s
		r.rollout.ObserveStatus(s)
	}
}

// next is the value of the next CombinedStatus.
func (r *replay) next() string {
	if len(r.values) == 0 {
		return "1"
	}
	value := r.values[0]
	r.values = r.values[1:]
	return value
}

func (r *replay) update() {
	policies, err := staged.Compile(staged.Options{}, staged.Object(r.definition))
	require.NoError(r.t, err)
	r.rollout.Update(policies[0], r.definition.ObjectMeta)
}

// combined is a CombinedStatus with one cell. A value of "stale" is one of a policy that had the
// name before.
func (r *replay) combined(policy, object, value string) *control.CombinedStatus {
	uid := types.UID("uid-" + policy)
	if value == "stale" {
		uid, value = "earlier", "1"
	}
	labels := map[string]string{}
	for _, c := range slices.Concat(r.workload.ClusterScope, r.workload.NamespaceScope) {
		if c.Name == object {
			labels = map[string]string{"api-group": c.Group, "resource": c.Resource, "namespace": c.Namespace, "name": c.Name, "binding-policy": policy}
		}
	}
	s := &control.CombinedStatus{ObjectMeta: metav1.ObjectMeta{Name: object + "." + string(uid), Labels: map[string]string{}}}
	for key, v := range labels {
		s.Labels["status.kubestellar.io/"+key] = v
	}
	s.Results = []control.NamedStatusCombination{{Name: "deployments-aggregator", ColumnNames: []string{"sum"},
		Rows: []control.StatusCombinationRow{{Columns: []control.Value{{Type: "Number", Number: &value}}}}}}
	return s
}

// decide decides and carries it out until nothing changes.
func (r *replay) decide() {
	for range 4 {
		for _, write := range r.writes() {
			write()
		}
	}
}

// writes are what a decision asks for, in its order.
func (r *replay) writes() []func() {
	d := r.rollout.Decide(r.status, start)
	writes := []func(){func() {
		if d.Status.ActiveStage != r.status.ActiveStage {
			r.log = append(r.log, "active "+d.Status.ActiveStage)
		}
		r.status = d.Status
	}}
	for _, p := range d.Ensure {
		writes = append(writes, func() { r.ensure(p) })
	}
	for _, name := range d.Remove {
		writes = append(writes, func() {
			delete(r.policies, name)
			r.rollout.ForgetBindingPolicy(name)
			r.log = append(r.log, "delete "+name)
		})
	}
	return writes
}

func (r *replay) ensure(p *control.BindingPolicy) {
	if r.policies[p.Name] == nil {
		r.log = append(r.log, "create "+p.Name)
	}
	stored := *p
	stored.UID = types.UID("uid-" + p.Name)
	r.policies[p.Name] = &stored
	r.rollout.ObserveBindingPolicy(&stored)
}

// A scenario is what the events of a trace stand for, and what we do.
type scenario struct {
	values  []string // of the CombinedStatuses, in their order
	objects []string // of the workload; nginx without any
	log     string
	differs string // why this is not what the workload stager does; "" if it is
}

func (s scenario) workload() (w control.Workload) {
	if s.objects == nil {
		s.objects = []string{"nginx"}
	}
	for _, name := range s.objects {
		c := control.DownsyncClause{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "nginx", Name: name}
		switch {
		case name == "":
			continue
		case strings.HasPrefix(name, "cluster:"):
			c = control.DownsyncClause{Version: "v1", Resource: "namespaces", Name: strings.TrimPrefix(name, "cluster:")}
			w.ClusterScope = append(w.ClusterScope, c)
			continue
		}
		w.NamespaceScope = append(w.NamespaceScope, c)
	}
	return w
}

// scenarios are by the name of the trace.
var scenarios = map[string]scenario{
	"happy-two-stages": {values: []string{"0", "1"},
		log:     `active dev; create s.stage.dev; active prod; create s.stage.prod; delete s.stage.dev; succeeded`,
		differs: `it deletes dev before it creates prod, and never says that it is done`},
	"condition-root-obj": {log: `active dev; create s.stage.dev; active prod; create s.stage.prod`,
		differs: `it does not know obj; the trace ends before the Binding of prod, so dev stays`},
	"last-stage-with-satisfied-condition": {log: `active dev; create s.stage.dev; succeeded`,
		differs: `it deletes the last policy and panics`},
	"empty-stages": {log: `refused: policy "s": spec.stages: want at least one stage`,
		differs: `it panics`},
	"middle-stage-without-condition": {log: `active a; create s.stage.a; stalled NoCondition`,
		differs: `it stalls, too, and does not say so`},
	"restart-mid-rollout": {log: `active prod; create s.stage.prod`,
		differs: `it stalls for ever`},
	"restart-at-last-stage": {log: ``,
		differs: `it fails to create what exists; here there is nothing to do until the Binding is seen`},
	"spec-change-mid-rollout": {log: `active dev; create s.stage.dev; active prod; create s.stage.prod`,
		differs: `it stalls, and the edit does not reach the policy`},
	"active-stage-renamed": {log: `stalled ActiveStageUnknown`,
		differs: `it starts over and leaves a policy behind`},
	"empty-workload": {objects: []string{""},
		log: `active dev; create s.stage.dev`},
	"filter-excludes-all": {log: `active dev; create s.stage.dev`},
	"filter-group-bug": {log: `active dev; create s.stage.dev; active prod; create s.stage.prod`,
		differs: `its group is the version`},
	"filter-group-equals-version": {log: `active dev; create s.stage.dev`,
		differs: `its group is the version`},
	"filter-error-drops-object": {objects: []string{"nginx", "cluster:shop"},
		log:     `active dev; create s.stage.dev; active prod; create s.stage.prod`,
		differs: `its filter fails on what has no namespace; here namespace is "", and the answer is no`},
	"two-objects-one-without-status": {objects: []string{"nginx", "cfg"},
		log: `active dev; create s.stage.dev`},
	"two-objects-both-satisfied": {values: []string{"1", "0", "1"},
		objects: []string{"nginx", "cfg"},
		log:     `active dev; create s.stage.dev; active prod; create s.stage.prod`,
		differs: `the order of deletion`},
	"cluster-scoped-object": {objects: []string{"cluster:nginx"},
		log:     `active dev; create s.stage.dev; active prod; create s.stage.prod`,
		differs: `the order of deletion`},
	"clusterrole-name-with-colon": {objects: []string{"cluster:system:x"},
		log:     `active dev; create s.stage.dev; stalled Unreportable`,
		differs: `it waits for ever and does not say why`},
	"long-stage-name": {log: `refused: policy "s": spec.stages[0].name: s.stage.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx has 68 characters, over the 63 of a label value`,
		differs: `it waits for ever`},
	"stage-name-with-separator": {log: `refused: policy "s": spec.stages[0].name: must not contain ".stage."`,
		differs: `it never looks at the stage`},
	"status-update-conflict": {log: `active dev; create s.stage.dev; active prod; create s.stage.prod`,
		differs: `it has both stages active; here nothing is written before the status: TestFaultsOfTheWorkloadStager`},
	"next-stage-create-fails": {log: `active dev; create s.stage.dev; active prod; create s.stage.prod`,
		differs: `it has no policy left; here the old one stays: TestFaultsOfTheWorkloadStager`},
	"duplicate-stage-names": {log: `refused: policy "s": spec.stages[1].name: stage 0 has this name too`,
		differs: `it cannot tell them apart`},
	"condition-non-bool": {log: `refused: policy "s": spec.stages[0].condition: the result is int, not bool`,
		differs: `it is never true there`},
	"condition-true-before-status": {log: `active dev; create s.stage.dev; active prod; create s.stage.prod`,
		differs: `the order of deletion`},
	"stale-policy-uid": {values: []string{"stale"},
		log: `active dev; create s.stage.dev`},
	"condition-regresses-after-advance": {log: `active dev; create s.stage.dev; active prod; create s.stage.prod; delete s.stage.dev; succeeded`,
		differs: `the order of deletion, and it never says that it is done`},
	"workload-changes-in-prod": {log: `active dev; create s.stage.dev; active prod; create s.stage.prod; delete s.stage.dev; succeeded`,
		differs: `the order of deletion, and it never says that it is done`},
	"sbp-deleted": {log: `active dev; create s.stage.dev`},
}
