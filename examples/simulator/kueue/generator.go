package kueue

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// A Config is the input of the runner, in the format of its generator.yaml.
type Config struct {
	Cohorts []CohortSet `json:"cohorts"`
	// Topology and ResourceFlavor are those of topology-aware scheduling. The simulation only uses
	// that they exist, because the nodes have a hundred times the quota.
	Topology       map[string]any `json:"topology"`
	ResourceFlavor map[string]any `json:"resourceFlavor"`
}

// A CohortSet is a number of equal cohorts.
type CohortSet struct {
	ClassName  string     `json:"className"`
	Count      int        `json:"count"`
	QueuesSets []QueueSet `json:"queuesSets"`
}

// A QueueSet is a number of equal ClusterQueues of a cohort.
type QueueSet struct {
	ClassName           string            `json:"className"`
	Count               int               `json:"count"`
	NominalQuota        resource.Quantity `json:"nominalQuota"` // of CPU
	BorrowingLimit      resource.Quantity `json:"borrowingLimit"`
	ReclaimWithinCohort string            `json:"reclaimWithinCohort"`
	WithinClusterQueue  string            `json:"withinClusterQueue"`
	WorkloadsSets       []WorkloadSet     `json:"workloadsSets"`
}

// A WorkloadSet is created in each ClusterQueue, one Workload after another.
type WorkloadSet struct {
	Count              int        `json:"count"`
	CreationIntervalMs int        `json:"creationIntervalMs"`
	Workloads          []Template `json:"workloads"`
}

// A Template is a Workload.
type Template struct {
	ClassName     string            `json:"className"`
	RuntimeMs     int               `json:"runtimeMs"`
	Priority      int               `json:"priority"`
	Request       resource.Quantity `json:"request"`  // of CPU, of each Pod
	PodCount      int               `json:"podCount"` // 0 is 1
	TASConstraint string            `json:"tasConstraint"`
	TASLevel      string            `json:"tasLevel"`
	SliceSize     int               `json:"sliceSize"`
}

// Parse reads a generator.yaml. Unknown fields, and policies that are not modelled, are errors.
func Parse(name string, text []byte) (Config, error) {
	var c Config
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		return c, fmt.Errorf("%s: %w", name, err)
	}
	for _, cohort := range c.Cohorts {
		for _, q := range cohort.QueuesSets {
			if q.ReclaimWithinCohort != "Any" || q.WithinClusterQueue != "LowerPriority" {
				return c, fmt.Errorf("%s: queues %q: want reclaimWithinCohort Any and withinClusterQueue LowerPriority: others are not modelled", name, q.ClassName)
			}
			for _, set := range q.WorkloadsSets {
				for _, w := range set.Workloads {
					if w.cpu() > q.NominalQuota.MilliValue() || w.cpu() <= 0 {
						return c, fmt.Errorf("%s: workload %q asks for %dm CPU of a quota of %s: not modelled", name, w.ClassName, w.cpu(), &q.NominalQuota)
					}
				}
			}
		}
	}
	if len(c.Cohorts) == 0 {
		return c, fmt.Errorf("%s: it has no cohorts", name)
	}
	return c, nil
}

// cpu is the request of all Pods together, in thousandths.
func (t Template) cpu() int64 { return t.Request.MilliValue() * int64(max(t.PodCount, 1)) }

func (t Template) runtime() time.Duration { return time.Duration(t.RuntimeMs) * time.Millisecond }
