package scheduling

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/resources"
)

// A PodInfo is a Pod with the fields that plugins read, so that they are read once and not for each
// Node. It must not be changed.
type PodInfo struct {
	// Pod is shared and must not be changed.
	Pod *unstructured.Unstructured
	// Requests are the requests of the Pod, in the units of package resources.
	Requests resources.Amounts
	// Priority is spec.priority or, for a Pod that a scheduler took in, the value of its
	// PriorityClass.
	Priority int64

	namespace    string
	labels       map[string]any
	group        string // see groupOf
	nodeSelector []requirement
	required     []nodeTerm // of the node affinity: one has to match
	hasRequired  bool       // the Pod has a required node affinity
	preferred    []nodeTerm // of the node affinity, with weights
	tolerations  []toleration
	ports        []hostPort
	images       []string
	containers   int64
	spread       []spreadConstraint
	affinity     podAffinity
	claims       []claimName
	disks        []disk
	scored       scoredAmounts // Requests, with defaults, before the Pod is scheduled
	counted      scoredAmounts // the same once it is on a Node
	neverPreempt bool          // it preempts no Pod
	terminating  bool
	class        string // see class; "" if it is not computed yet
}

// NewPodInfo reads a Pod, or a Pod made of a template.
func NewPodInfo(pod *unstructured.Unstructured) *PodInfo {
	spec := fields.Map(pod.Object, "spec")
	p := &PodInfo{
		Requests:     resources.OfPodSpec(spec),
		Priority:     fields.Int64(spec, 0, "priority"),
		nodeSelector: exactly(fields.Map(spec, "nodeSelector")),
		tolerations:  tolerationsOf(spec),
		ports:        pods.HostPorts(spec),
		claims:       claimNames(pod),
		disks:        disksOf(spec),
		neverPreempt: fields.String(spec, "preemptionPolicy") == "Never",
	}
	p.setPod(pod)
	p.readNodeAffinity(fields.Map(spec, "affinity", "nodeAffinity"))
	p.affinity = readPodAffinity(p.namespace, p.labels, fields.Map(spec, "affinity"))
	p.spread = readSpreadConstraints(spec, p.labels)
	p.images, p.containers = imagesOf(spec)
	p.readScored(spec)
	return p
}

// setPod takes in a later state of the Pod whose requests are the same.
func (p *PodInfo) setPod(pod *unstructured.Unstructured) {
	if !sameClass(p.Pod, pod) {
		p.class = ""
	}
	p.Pod, p.namespace = pod, pod.GetNamespace()
	if labels := labelsOf(pod); p.group == "" || !maps.Equal(labels, p.labels) {
		p.labels, p.group, p.class = labels, groupOf(pod.GetNamespace(), labels), ""
	}
	p.terminating = fields.IsTerminating(pod)
}

// readScored reads the requests of the Pod that scores use. Before the Pod is scheduled,
// kube-scheduler leaves out the request of the Pod as a whole. Once the Pod is on a Node, this
// request counts, and defaults count only for resources that none of its containers requests.
func (p *PodInfo) readScored(spec map[string]any) {
	defaults := resources.Amounts{"cpu": defaultCPU, "memory": defaultMemory}
	p.scored = scoredAmountsOf(resources.OfPodSpecOr(spec, defaults))
	p.counted = p.scored
	if len(fields.Map(spec, "resources", "requests")) == 0 {
		return
	}
	ofContainers := maps.Clone(spec)
	delete(ofContainers, "resources")
	p.scored = scoredAmountsOf(resources.OfPodSpecOr(ofContainers, defaults))
	maps.DeleteFunc(defaults, func(name string, _ int64) bool { return p.Requests[name] > 0 })
	p.counted = scoredAmountsOf(resources.OfPodSpecOr(spec, defaults))
}

func (p *PodInfo) readNodeAffinity(affinity map[string]any) {
	required := fields.Map(affinity, "requiredDuringSchedulingIgnoredDuringExecution")
	p.hasRequired, p.required = required != nil, readNodeTerms(required, "nodeSelectorTerms")
	for _, preferred := range fields.Maps(affinity, "preferredDuringSchedulingIgnoredDuringExecution") {
		term := readNodeTerm(fields.Map(preferred, "preference"))
		term.weight = fields.Int64(preferred, 0, "weight")
		p.preferred = append(p.preferred, term)
	}
}

// Name returns the namespace and the name of the Pod.
func (p *PodInfo) Name() types.NamespacedName { return control.NameOf(p.Pod) }

// MatchesNode reports whether the nodeSelector and the required node affinity of the Pod match a
// Node.
func (p *PodInfo) MatchesNode(node *unstructured.Unstructured) bool {
	return p.matchesNode(node.GetName(), labelsOfNode(node))
}

func (p *PodInfo) matchesNode(name string, labels map[string]any) bool {
	return matchesAll(p.nodeSelector, labels) && (!p.hasRequired || slices.ContainsFunc(p.required, func(t nodeTerm) bool {
		return t.matches(name, labels)
	}))
}

// started is when the Pod was started. A Pod that was not started counts as started now.
func (p *PodInfo) started(now time.Time) time.Time {
	if at, ok := fields.Time(p.Pod.Object, "status", "startTime"); ok {
		return at
	}
	return now
}

// compareImportance puts the Pods first that preemption spares first: Pods of higher priority and,
// with the same priority, Pods that were started earlier.
func compareImportance(a, b *PodInfo, now time.Time) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.started(now).Compare(b.started(now)))
}

// nominatedNode is the Node on which Pods were preempted for this Pod, or "".
func (p *PodInfo) nominatedNode() string { return nominatedNode(p.Pod) }

func nominatedNode(pod *unstructured.Unstructured) string {
	if pod == nil {
		return ""
	}
	return fields.String(pod.Object, "status", "nominatedNodeName")
}
