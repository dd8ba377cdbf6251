package staged

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/internal/eval"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// gates compiles what a stage asks for in addition to its condition.
func (c *compiler) gates(path string, i int, s *stage) {
	s.soak = c.duration(path+".soak", s.Soak)
	if s.BatchSoak != nil {
		soak := c.duration(path+".batchSoak", s.BatchSoak)
		s.batchSoak = &soak
	}
	s.deadline = c.seconds(path+".progressDeadlineSeconds", s.ProgressDeadlineSeconds)
	s.stageDeadline = c.seconds(path+".stageDeadlineSeconds", s.StageDeadlineSeconds)
	s.deliveryDeadline = c.seconds(path+".deliveryDeadlineSeconds", s.DeliveryDeadlineSeconds)
	c.oneOf(path+".requireEvidence", string(s.RequireEvidence), string(v1alpha1.Exact), string(v1alpha1.Ordered), string(v1alpha1.None))
	if s.Approval != nil {
		s.approvalTimeout = c.seconds(path+".approval.timeoutSeconds", s.Approval.TimeoutSeconds)
	}
	c.windows(path+".windows", s)
	if s.Guards != nil {
		s.guards = *s.Guards
	}
	if s.minDestinations() < 0 {
		c.faultf(path+".guards.minDestinations", "must not be negative")
	}
	if t := c.threshold(path+".maxSilent", s.MaxSilent, 0); t != nil {
		s.maxSilent = *t
	}
	s.maxConcurrency = c.threshold(path+".maxConcurrency", s.MaxConcurrency, 1)
	c.perCluster(path, s)
	c.onFailure(path, i, s)
	c.batchFields(path, s)
}

func (c *compiler) duration(path string, d *metav1.Duration) time.Duration {
	if d == nil {
		return 0
	}
	if d.Duration < 0 {
		c.faultf(path, "must not be negative")
	}
	return d.Duration
}

func (c *compiler) seconds(path string, n *int32) time.Duration {
	if n == nil {
		return 0
	}
	if *n < 1 {
		c.faultf(path, "want at least 1")
	}
	return time.Duration(*n) * time.Second
}

// perCluster compiles the limits of single clusters.
func (c *compiler) perCluster(path string, s *stage) {
	p := s.PerCluster
	if p == nil {
		if s.MaxFailures != nil && s.DeliveryDeadlineSeconds == nil {
			c.faultf(path+".maxFailures", "it counts clusters that are set aside, and needs perCluster; clusters that need not report are maxSilent")
		}
		c.maxFailures(path, s)
		return
	}
	if s.MaxConcurrency != nil {
		c.faultf(path+".perCluster", "it cannot stand beside maxConcurrency: maxUnavailable says how many clusters begin at once")
	}
	s.perCluster = cmp.Or(c.threshold(path+".perCluster.maxUnavailable", p.MaxUnavailable, 1), &threshold{value: 1})
	s.clusterDeadline = c.seconds(path+".perCluster.progressDeadlineSeconds", p.ProgressDeadlineSeconds)
	s.minSuccess = c.duration(path+".perCluster.minSuccessTime", p.MinSuccessTime)
	c.maxFailures(path, s)
}

func (c *compiler) maxFailures(path string, s *stage) {
	if t := c.threshold(path+".maxFailures", s.MaxFailures, 0); t != nil {
		s.maxFailures = *t
	}
}

// objectGate compiles the condition of a gate that is an object of the hub.
func (c *compiler) objectGate(path string, g v1alpha1.ObjectGate) *eval.Program {
	for field, value := range map[string]string{"name": g.Name, "apiVersion": g.APIVersion, "kind": g.Kind, "objectName": g.ObjectName, "condition": g.Condition} {
		if value == "" {
			c.faultf(path+"."+field, "missing")
		}
	}
	return c.expression(path+".condition", g.Condition, c.env.gate)
}

// revisions checks how revisions are cut and kept.
func (c *compiler) revisions() {
	r := c.definition.policy.Spec.Revisions
	if r == nil {
		return
	}
	c.duration("spec.revisions.settle", r.Settle)
	if r.HistoryLimit != nil && *r.HistoryLimit < 0 {
		c.faultf("spec.revisions.historyLimit", "must not be negative")
	}
}

// adopt checks which BindingPolicies of users are taken over.
func (c *compiler) adopt() {
	spec := c.definition.policy.Spec
	for i, a := range spec.Adopt {
		path := position.Index("spec.adopt", i)
		if a.BindingPolicy == "" || strings.HasPrefix(a.BindingPolicy, c.definition.policy.Name+v1alpha1.StageSeparator) {
			c.faultf(path+".bindingPolicy", "want the name of a BindingPolicy that is not one of this policy, got %q", a.BindingPolicy)
		}
		n := slices.IndexFunc(spec.Stages, func(s v1alpha1.Stage) bool { return s.Name == a.Stage })
		if n < 0 {
			c.faultf(path+".stage", "no stage has the name %q", a.Stage)
		} else if s := spec.Stages[n]; s.MaxConcurrency != nil || s.PerCluster != nil {
			c.faultf(path+".stage", "stage %q divides its clusters: adopt first, and write maxConcurrency or perCluster after that", a.Stage)
		}
		if slices.ContainsFunc(spec.Adopt[:i], func(o v1alpha1.Adoption) bool { return o.BindingPolicy == a.BindingPolicy }) {
			c.faultf(path+".bindingPolicy", "%s is adopted twice", a.BindingPolicy)
		}
	}
}

// updates checks what staged updates cannot stand next to.
func (c *compiler) updates() {
	spec := c.definition.policy.Spec
	if spec.Updates != v1alpha1.Staged {
		return
	}
	snapshot := kubestellar.Object{Group: "apps", Version: "v1", Resource: "controllerrevisions", Namespace: fleet.SnapshotNamespace, Name: c.definition.policy.Name}
	secret := kubestellar.Object{Version: "v1", Resource: "secrets", Namespace: fleet.SnapshotNamespace, Name: c.definition.policy.Name}
	for i, clause := range spec.Downsync {
		path := position.Index("spec.downsync", i)
		for _, o := range []kubestellar.Object{snapshot, secret} {
			if _, selects := kubestellar.Match(spec.Downsync[i:i+1], o, kubestellar.Namespaces{o.Namespace: {"kubernetes.io/metadata.name": o.Namespace}}); selects {
				c.faultf(path, "it chooses %s in namespace %s, where the snapshots of revisions are, so that each snapshot would be a new revision: name namespaces, resources or labels", o.Resource, o.Namespace)
				break
			}
		}
		if clause.CreateOnly {
			c.faultf(path+".createOnly", "with updates: Staged it is set until the turn of a cluster comes, and not by hand")
		}
		if clause.WantSingletonReportedState || clause.WantMultiWECReportedState {
			c.faultf(path, "with updates: Staged no status can be returned into the objects: each would be a new version of the workload")
		}
	}
}

// onFailure checks what to do after a failure.
func (c *compiler) onFailure(path string, i int, s *stage) {
	path += ".onFailure"
	c.oneOf(path, string(s.OnFailure), string(v1alpha1.Pause), string(v1alpha1.Continue), string(v1alpha1.Rollback),
		string(v1alpha1.RollbackAll), string(v1alpha1.RollbackBatch))
	s.OnFailure = cmp.Or(s.OnFailure, v1alpha1.Pause)
	switch {
	case i == 0 && c.definition.policy.Spec.Updates != v1alpha1.Staged && (s.OnFailure == v1alpha1.Rollback || s.OnFailure == v1alpha1.RollbackAll):
		c.warn(path, string(s.OnFailure)+" in the first stage is Pause: there is no stage to go back to")
	case s.OnFailure == v1alpha1.RollbackBatch && s.MaxConcurrency == nil:
		c.faultf(path, "RollbackBatch needs maxConcurrency")
	}
}

// batchFields checks the fields that concern batches only.
func (c *compiler) batchFields(path string, s *stage) {
	if !s.isBatched() {
		if s.BatchSoak != nil {
			c.faultf(path+".batchSoak", "it needs maxConcurrency")
		}
		if s.BatchesInWindows {
			c.faultf(path+".batchesInWindows", "it needs maxConcurrency or perCluster")
		}
	}
	if s.BatchesInWindows && len(s.Windows) == 0 {
		c.warn(path+".batchesInWindows", "there are no windows")
	}
	if s.perCluster != nil && s.ProgressDeadlineSeconds != nil {
		c.faultf(path+".progressDeadlineSeconds", "with perCluster there are perCluster.progressDeadlineSeconds, of each cluster, and stageDeadlineSeconds")
	}
	if s.perCluster != nil && s.BatchSoak != nil {
		c.faultf(path+".batchSoak", "with perCluster there is perCluster.minSuccessTime")
	}
}
