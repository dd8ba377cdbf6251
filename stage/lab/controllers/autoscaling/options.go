package autoscaling

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
)

// Options of [HorizontalPodAutoscalers]. The zero value has the defaults of
// kube-controller-manager.
type Options struct {
	// Metrics returns the values of metrics. Default [FromAnnotations].
	Metrics Metrics
	// Targets are kinds of custom resources that can be scaled.
	Targets []Target
	// Period is the time between two looks at an autoscaler. Default 15s.
	Period time.Duration
	// Stabilization is for how long the highest recommendation counts before a workload shrinks, where
	// spec.behavior does not say it. Default 5m.
	Stabilization time.Duration
	// Tolerance is by which share use may differ from its target without effect, where spec.behavior
	// does not say it. Default 0.1.
	Tolerance float64
	// CPUInitialization is for how long after its start a Pod's use of CPU counts only while it is
	// ready. Default 5m.
	CPUInitialization time.Duration
	// InitialReadiness is how soon after its start a Pod that is not ready must have become so for it
	// to have been ready before. Default 30s.
	InitialReadiness time.Duration

	fromObjects bool // metrics depend only on objects
}

func (o Options) withDefaults() Options {
	if o.Metrics == nil {
		o.Metrics, o.fromObjects = FromAnnotations, true
	}
	o.Targets = append(builtIn(), o.Targets...)
	o.Period = cmp.Or(o.Period, 15*time.Second)
	o.Stabilization = cmp.Or(o.Stabilization, 5*time.Minute)
	o.Tolerance = cmp.Or(o.Tolerance, 0.1)
	o.CPUInitialization = cmp.Or(o.CPUInitialization, 5*time.Minute)
	o.InitialReadiness = cmp.Or(o.InitialReadiness, 30*time.Second)
	return o
}

// A Target is a kind that can be scaled, with its resource and the fields of its subresource scale,
// as in spec.versions[*].subresources.scale of its definition.
type Target struct {
	Kind     schema.GroupVersionKind
	Resource string // in the plural, such as deployments
	// SpecReplicas, StatusReplicas and Selector are paths such as .spec.replicas. The selector is
	// text there. Defaults .spec.replicas, .status.replicas and .status.selector.
	SpecReplicas, StatusReplicas, Selector string

	builtIn bool // its selector is spec.selector
}

func builtIn() []Target {
	return []Target{
		{Kind: kinds.Deployment, Resource: "deployments", builtIn: true},
		{Kind: kinds.ReplicaSet, Resource: "replicasets", builtIn: true},
		{Kind: kinds.StatefulSet, Resource: "statefulsets", builtIn: true},
		{Kind: kinds.ReplicationController, Resource: "replicationcontrollers", builtIn: true},
	}
}
