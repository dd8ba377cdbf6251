package scheduling

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/controllers/resources"
)

// A PodInfo is a Pod with what filters and scores read of it, so that it is read once and not for
// each Node. It is immutable and safe for concurrent use.
type PodInfo struct {
	// Pod is shared and must not be changed.
	Pod *unstructured.Unstructured
	// Requests are what the Pod requests, in the units of package resources. They must not be
	// changed.
	Requests resources.Amounts

	nodeSelector  map[string]any
	affinityTerms []map[string]any // of the required node affinity: one has to match
	hasAffinity   bool             // the Pod has a required node affinity
	tolerations   []toleration
	claims        []string // names of PersistentVolumeClaims
	scored        scoredAmounts
}

// NewPodInfo reads a Pod, or a Pod made of a template.
func NewPodInfo(pod *unstructured.Unstructured) *PodInfo {
	spec := fields.Map(pod.Object, "spec")
	required := fields.Map(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
	requests := resources.OfPodSpec(spec)
	return &PodInfo{
		Pod:           pod,
		Requests:      requests,
		nodeSelector:  fields.Map(spec, "nodeSelector"),
		affinityTerms: fields.Maps(required, "nodeSelectorTerms"),
		hasAffinity:   required != nil,
		tolerations:   tolerationsOf(spec),
		claims:        claimNames(pod),
		scored:        scoredAmounts{cpu: max(requests["cpu"], defaultCPU), memory: max(requests["memory"], defaultMemory)},
	}
}

// signature is the same for Pods that every Node treats alike.
func (p *PodInfo) signature() string {
	spec, requests := fields.Map(p.Pod.Object, "spec"), make(map[string]any, len(p.Requests))
	for name, n := range p.Requests {
		requests[name] = n
	}
	terms := make([]any, len(p.affinityTerms))
	for i, term := range p.affinityTerms {
		terms[i] = term
	}
	parts := []any{p.hasAffinity, p.nodeSelector, terms, fields.Slice(spec, "tolerations"), requests}
	if len(p.claims) > 0 {
		parts = append(parts, p.Pod.GetNamespace(), p.claims)
	}
	data, err := object.AppendJSON(nil, parts)
	if err != nil {
		return err.Error() // values that are no JSON never get into an object
	}
	return string(data)
}

// IsPodTerminal reports whether all containers of a Pod have ended for good: its phase is Succeeded
// or Failed. Such a Pod uses no resources of its Node.
func IsPodTerminal(pod *unstructured.Unstructured) bool { return pods.Of(pod).IsTerminal() }
