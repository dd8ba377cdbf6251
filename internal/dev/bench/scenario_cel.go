package bench

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// A selectors is the CEL expressions of each Stage, by name.
type selectors map[string][]string

// podSelectors are the selectors of PodGeneral as far as kwok can evaluate them in CEL: it has Pods
// as Go types, without the types of conditions, container statuses and owners. In stagecraft fields
// can be missing, and in kwok an error hides all Stages. So the selectors use has().
var podSelectors = selectors{
	"pod-create": {`!has(self.metadata.deletionTimestamp)`, `!has(self.status.podIP)`, `!(self.status.phase in ["Succeeded", "Failed"])`},
	"pod-init-container-running": {
		`!has(self.metadata.deletionTimestamp)`, `self.status.phase == "Pending"`, `has(self.spec.initContainers)`,
		`!has(self.status.initContainerStatuses)`,
	},
	"pod-init-container-completed": {
		`!has(self.metadata.deletionTimestamp)`, `self.status.phase == "Pending"`, `has(self.spec.initContainers)`,
		`has(self.status.initContainerStatuses) && size(self.status.initContainerStatuses) == size(self.spec.initContainers)`,
	},
	"pod-ready": {
		`!has(self.metadata.deletionTimestamp)`, `self.status.phase == "Pending"`, `has(self.status.podIP)`,
		`!has(self.spec.initContainers) || has(self.status.initContainerStatuses)`,
	},
	"pod-complete": {
		`!has(self.metadata.deletionTimestamp)`, `self.status.phase == "Running"`, `has(self.metadata.ownerReferences)`,
		`self.spec.containers.all(c, c.image.startsWith("registry.example.com/"))`,
	},
	"pod-delete": {`has(self.metadata.deletionTimestamp)`, `!has(self.metadata.finalizers)`},
}

// sandboxSelectors are the selectors of PodGeneral for a kind that kwok has as maps.
var sandboxSelectors = selectors{
	"pod-create": podSelectors["pod-create"],
	"pod-init-container-running": {
		`!has(self.metadata.deletionTimestamp)`, `self.status.phase == "Pending"`,
		`!has(self.status.conditions) || !self.status.conditions.exists(c, c.type == "Initialized" && c.status == "True")`,
		`has(self.status.initContainerStatuses) && self.status.initContainerStatuses.exists(s, has(s.state.waiting))`,
	},
	"pod-init-container-completed": {
		`!has(self.metadata.deletionTimestamp)`, `self.status.phase == "Pending"`,
		`!has(self.status.conditions) || !self.status.conditions.exists(c, c.type == "Initialized" && c.status == "True")`,
		`has(self.status.initContainerStatuses) && self.status.initContainerStatuses.exists(s, has(s.state.running))`,
	},
	"pod-ready": {
		`!has(self.metadata.deletionTimestamp)`, `self.status.phase == "Pending"`,
		`has(self.status.conditions) && self.status.conditions.exists(c, c.type == "Initialized" && c.status == "True")`,
		`!has(self.status.containerStatuses) || !self.status.containerStatuses.exists(s, has(s.state.running))`,
	},
	"pod-complete": {
		`!has(self.metadata.deletionTimestamp)`, `self.status.phase == "Running"`,
		`has(self.status.conditions) && self.status.conditions.exists(c, c.type == "Ready" && c.status == "True")`,
		`has(self.metadata.ownerReferences) && self.metadata.ownerReferences.exists(o, o.kind == "Job")`,
	},
	"pod-delete": podSelectors["pod-delete"],
}

// stages returns the Stages of PodGeneral without jq: with these selectors, and with constant
// weights and delays.
func (s selectors) stages(ref v1alpha1.StageResourceRef) stage.Source {
	stages := presets.PodGeneral().Stages()
	for i := range stages {
		spec := &stages[i].Spec
		spec.ResourceRef = ref
		spec.Selector = celSelector(s[stages[i].Name])
		spec.WeightFrom = nil
		if d := spec.Delay; d != nil {
			spec.Delay = &v1alpha1.StageDelay{DurationMilliseconds: d.DurationMilliseconds, JitterDurationMilliseconds: d.JitterDurationMilliseconds}
		}
	}
	return stage.FromStages(stages...)
}

func celSelector(expressions []string) *v1alpha1.StageSelector {
	s := &v1alpha1.StageSelector{}
	for _, text := range expressions {
		s.MatchExpressions = append(s.MatchExpressions, v1alpha1.MatchExpression{CEL: &v1alpha1.ExpressionCEL{Expression: text}})
	}
	return s
}

var (
	podRef     = v1alpha1.StageResourceRef{APIGroup: "v1", Kind: "Pod"}
	sandboxRef = v1alpha1.StageResourceRef{APIGroup: "example.com/v1", Kind: "Sandbox"}
)

// sandbox returns a Pod as an object of the kind Sandbox.
func sandbox(pod *unstructured.Unstructured) *unstructured.Unstructured {
	fields := maps.Clone(pod.Object)
	fields["apiVersion"], fields["kind"] = sandboxRef.APIGroup, sandboxRef.Kind
	return &unstructured.Unstructured{Object: fields}
}
