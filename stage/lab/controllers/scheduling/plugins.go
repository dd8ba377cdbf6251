package scheduling

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// The interfaces of plugins have the names and the order of the interfaces in kube-scheduler's
// framework. A plugin implements the interfaces that it needs. It keeps its data about a Pod in the
// [Cycle], not in itself.

// A Plugin takes part in the scheduling of Pods, by the other interfaces that it has.
type Plugin interface {
	// Name is the name of the plugin in weights, traces and messages. No other plugin has the same
	// name.
	Name() string
}

// A QueueSortPlugin orders the Pods that wait. A profile has one.
type QueueSortPlugin interface {
	Plugin
	// Less reports whether the first Pod is scheduled before the second.
	Less(a, b *QueuedPodInfo) bool
}

// A PreFilterPlugin is called once for each Pod, before any Node is looked at.
type PreFilterPlugin interface {
	Plugin
	// PreFilter prepares the data for the Filter of this plugin. With Skip, its Filter is not
	// called for this Pod. With reasons, no Node is looked at.
	PreFilter(*Cycle) Status
}

// PreFilterExtensions are for a PreFilterPlugin that keeps data about the Pods of Nodes. They are
// called when the scheduler takes Pods off a Node, or puts Pods there, to try something.
type PreFilterExtensions interface {
	AddPod(*Cycle, *PodInfo, *NodeInfo)
	RemovePod(*Cycle, *PodInfo, *NodeInfo)
}

// A FilterPlugin says whether a Pod may run on a Node.
type FilterPlugin interface {
	Plugin
	Filter(*Cycle, *NodeInfo) Status
}

// A PostFilterPlugin is called for a Pod that fits on no Node, for example to preempt other Pods.
// The first plugin that finds a Node decides.
type PostFilterPlugin interface {
	Plugin
	PostFilter(*Cycle) PostFilterResult
}

// A PreScorePlugin is called once for each Pod, with the Nodes that it fits on, before they are
// scored. With Skip its Score is not called for this Pod, and counts as 0.
type PreScorePlugin interface {
	Plugin
	PreScore(c *Cycle, nodes []*NodeInfo) Status
}

// A ScorePlugin says how good a Node is for a Pod: from 0 to 100, unless it has ScoreExtensions.
type ScorePlugin interface {
	Plugin
	Score(*Cycle, *NodeInfo) int64
}

// ScoreExtensions are for a ScorePlugin whose scores have other bounds. NormalizeScore gets the
// scores of all Nodes, and changes them to 0 to 100.
type ScoreExtensions interface {
	NormalizeScore(*Cycle, []int64)
}

// EnqueueExtensions are of a plugin that knows which changes of the cluster may let a Pod through that
// it rejected. Pods that a plugin without them rejected are tried again after every change.
type EnqueueExtensions interface {
	Plugin
	QueueingHint(waiting *PodInfo, e ClusterEvent) bool
}

// A ClusterEvent is a change of an object. The object is a Pod that came to a Node, changed there,
// or left it, a waiting Pod that changed, or an object of another kind that plugins read.
type ClusterEvent struct {
	// Kind is the kind of the object.
	Kind string
	// Old and New are the object before and after; nil without an object. They must not be changed.
	Old, New *unstructured.Unstructured
	// Own is true if the waiting Pod itself was changed.
	Own bool
	// OldPod and NewPod are the Pod before and after. They are nil if the Pod is not on a Node and
	// not nominated to one.
	OldPod, NewPod *PodInfo
	// OldNode and NewNode are a Node before and after, without its Pods.
	OldNode, NewNode *NodeInfo

	nominated bool // OldPod was not on the Node, the Node was only nominated for it
}

// A Status is the result of a plugin for a Pod, or for a Pod on a Node. The zero value means that
// the plugin accepts the Pod.
type Status struct {
	// Reasons are why the Pod must not run on the Node, in kube-scheduler's words.
	Reasons []string
	// Unresolvable is whether the reasons hold whatever Pods leave the Node, so that preemption
	// would not help.
	Unresolvable bool
	// Skip means that the plugin does not apply to this Pod.
	Skip bool
	// NodeNames, which a PreFilter can set, are the only Nodes that the scheduler has to look at.
	// Nil: all Nodes.
	NodeNames []string

	plugin string // whose it is
}

// Fits reports whether the Pod may run on the Node.
func (s Status) Fits() bool { return len(s.Reasons) == 0 }

// A PostFilterResult is the result of a PostFilterPlugin.
type PostFilterResult struct {
	// Node is where the Pod will fit once the victims are gone; "" without such a Node. It becomes
	// the Pod's status.nominatedNodeName.
	Node string
	// Victims are the Pods to delete.
	Victims []*PodInfo
	// Reasons are why no Node was found.
	Reasons []string
	// Keep means that a Node that was nominated for the Pod before stays nominated.
	Keep bool

	failed bool // no other plugin runs
}

// A Profile is which plugins decide. The order of the filter plugins matters for the messages: the
// first plugin that rejects a Node gives the reason.
type Profile struct {
	// Plugins are called where they have the interface. The first QueueSortPlugin counts.
	Plugins []Plugin
	// Weights are by which factor the scores of plugins are multiplied, by name. Default 1.
	Weights map[string]int64
	// PercentageOfNodesToScore limits the search in clusters with 100 Nodes and more. It is the
	// share of Nodes that must fit before the scheduler takes the best of them. The default is
	// kube-scheduler's: 50 less one for each 125 Nodes, at least 5.
	PercentageOfNodesToScore int
}

// DefaultProfile returns the plugins of kube-scheduler 1.36 with their weights. The caller may
// change it.
func DefaultProfile() Profile {
	return Profile{
		Plugins: []Plugin{
			prioritySort{}, nodeUnschedulable{}, nodeName{}, taintToleration{}, nodeAffinity{}, nodePorts{},
			nodeResourcesFit{}, volumeRestrictions{}, nodeVolumeLimits{}, volumeBinding{}, volumeZone{},
			podTopologySpread{}, interPodAffinity{}, dynamicResources{}, defaultPreemption{},
			balancedAllocation{}, imageLocality{},
		},
		Weights: map[string]int64{
			"TaintToleration": 3, "NodeAffinity": 2, "PodTopologySpread": 2, "InterPodAffinity": 2,
		},
	}
}

// pluginsOf returns the plugins of a profile that have an interface.
func pluginsOf[T Plugin](p Profile) (found []T) {
	for _, plugin := range p.Plugins {
		if t, ok := plugin.(T); ok {
			found = append(found, t)
		}
	}
	return found
}
