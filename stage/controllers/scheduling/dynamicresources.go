package scheduling

import "github.com/stagecraft-go/stagecraft/stage/controllers/internal/fields"

// dynamicResources refuses Pods with resource claims: dynamic resource allocation is not modelled,
// and a Pod that ran without its devices would be a lie.
type dynamicResources struct{}

func (dynamicResources) Name() string { return "DynamicResources" }

func (dynamicResources) PreFilter(c *Cycle) Status {
	if len(fields.Slice(c.Pod.Pod.Object, "spec", "resourceClaims")) > 0 {
		return unresolvable("spec.resourceClaims: stagecraft does not model dynamic resource allocation")
	}
	return Status{}
}

func (dynamicResources) PostFilter(*Cycle) PostFilterResult {
	return PostFilterResult{Reasons: []string{"no new claims to deallocate"}, Keep: true}
}
