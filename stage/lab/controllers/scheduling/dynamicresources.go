package scheduling

import "github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"

// dynamicResources refuses Pods with resource claims: dynamic resource allocation is not modelled,
// and a Pod that ran without its devices would be a lie.
type dynamicResources struct{}

func (dynamicResources) Name() string { return "DynamicResources" }

func (p dynamicResources) PreFilter(c *Cycle) Status {
	c.Write(p, true)
	if len(fields.Slice(c.Pod.Pod.Object, "spec", "resourceClaims")) > 0 {
		return unresolvable("spec.resourceClaims: stagecraft does not model dynamic resource allocation")
	}
	return Status{}
}

// PostFilter fails, like the plugin in kube-scheduler 1.36.3, if another plugin rejected the Pod
// before this plugin ran. The scheduler then does not try preemption, and the message ends with
// "not found".
func (p dynamicResources) PostFilter(c *Cycle) PostFilterResult {
	if c.Read(p) == nil {
		return PostFilterResult{Reasons: []string{"not found"}, Keep: true, failed: true}
	}
	return PostFilterResult{Reasons: []string{"no new claims to deallocate"}, Keep: true}
}
