package scheduling

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
)

// nominator has the Pods for which room is being made, by Node.
type nominator map[string][]*PodInfo

// on returns the Pods nominated to a Node to which another Pod has to yield.
func (n nominator) on(node string, p *PodInfo) (found []*PodInfo) {
	for _, nominated := range n[node] {
		if nominated.Priority >= p.Priority && nominated.Pod.GetUID() != p.Pod.GetUID() {
			found = append(found, nominated)
		}
	}
	return found
}

func (n nominator) remove(name types.NamespacedName) {
	for node, nominated := range n {
		n[node] = slices.DeleteFunc(nominated, func(p *PodInfo) bool { return p.Name() == name })
		if len(n[node]) == 0 {
			delete(n, node)
		}
	}
}

func (n nominator) add(p *PodInfo, node string) {
	n.remove(p.Name())
	if node != "" {
		n[node] = append(n[node], p)
	}
}

// update takes in a change of the requests or the labels of a Pod.
func (n nominator) update(p *PodInfo) {
	for _, nominated := range n {
		for i := range nominated {
			if nominated[i].Name() == p.Name() {
				nominated[i] = p
			}
		}
	}
}

// defaultPreemption makes room for a Pod by the deletion of Pods of lower priority.
type defaultPreemption struct{}

func (defaultPreemption) Name() string { return "DefaultPreemption" }

// A candidate is a Node on which a Pod fits without some others.
type candidate struct {
	node       *NodeInfo
	victims    []*PodInfo // the most important first
	violations int        // how many of them a PodDisruptionBudget protects
}

func (defaultPreemption) PostFilter(c *Cycle) PostFilterResult {
	if reason := whyNotEligible(c); reason != "" {
		return PostFilterResult{Reasons: []string{"preemption: " + reason}, Keep: true}
	}
	candidates, statuses := findCandidates(c)
	if len(candidates) == 0 {
		absent := Status{Reasons: []string{"Preemption is not helpful for scheduling"}}
		nodes := len(c.Nodes)
		return PostFilterResult{Reasons: []string{"preemption: " + noNodeAvailable(nodes) + histogram(nodes-len(statuses), statuses, absent)}}
	}
	best := slices.MinFunc(candidates, func(a, b candidate) int { return a.compare(b, c.Now) })
	return PostFilterResult{Node: best.node.Name, Victims: best.victims}
}

// whyNotEligible says why a Pod must not preempt others, or "" if it may.
func whyNotEligible(c *Cycle) string {
	if c.Pod.neverPreempt {
		return "not eligible due to preemptionPolicy=Never."
	}
	n := c.Node(c.Pod.nominatedNode())
	if n == nil || c.Status(n).Unresolvable {
		return ""
	}
	for _, p := range n.Pods {
		if p.Priority < c.Pod.Priority && p.terminating && isPreempted(p.Pod) {
			return "not eligible due to a terminating pod on the nominated node."
		}
	}
	return ""
}

const preemptedByScheduler = "PreemptionByScheduler"

func isPreempted(pod *unstructured.Unstructured) bool {
	target := conditions.Of(pod).Find("DisruptionTarget")
	return target.IsTrue() && target.Field("reason") == preemptedByScheduler
}

// findCandidates tries Nodes until a tenth of them, and at least 100, are candidates, and at least
// one candidate violates no budget. It also returns why the other Nodes are not candidates.
func findCandidates(c *Cycle) (found []candidate, statuses []Status) {
	potential := slices.DeleteFunc(slices.Clone(c.Nodes), func(n *NodeInfo) bool { return c.Status(n).Unresolvable })
	wanted, harmless := min(max(len(potential)/10, 100), len(potential)), false
	for _, n := range potential {
		tried, s := selectVictims(c, n)
		if !s.Fits() {
			statuses = append(statuses, s)
			continue
		}
		found = append(found, tried)
		harmless = harmless || tried.violations == 0
		if harmless && len(found) >= wanted {
			break
		}
	}
	return found, statuses
}

var noVictims = unresolvable("No preemption victims found for incoming pod")

// selectVictims takes all Pods of lower priority off a Node, and puts back the Pods that still fit:
// first the Pods that budgets protect, the most important first.
func selectVictims(c *Cycle, real *NodeInfo) (candidate, Status) {
	var lower []*PodInfo
	for _, p := range real.Pods {
		if p.Priority < c.Pod.Priority {
			lower = append(lower, p)
		}
	}
	if len(lower) == 0 {
		return candidate{}, noVictims // most Nodes, so that they are not copied
	}
	n := real.Clone()
	for _, p := range lower {
		c.removePod(p, n)
	}
	found := candidate{node: real}
	s := c.Filter(n)
	if s.Fits() {
		found.reprieve(c, n, lower)
		lower = found.victims
	}
	for _, p := range lower { // so that the plugins remember them again
		c.addPod(p, n)
	}
	return found, s
}

func (found *candidate) reprieve(c *Cycle, n *NodeInfo, lower []*PodInfo) {
	sort.Slice(lower, func(i, j int) bool { return compareImportance(lower[i], lower[j], c.Now) < 0 })
	protected, others := splitByBudgets(c, lower)
	try := func(p *PodInfo) (fits bool) {
		c.addPod(p, n)
		if fits = c.Filter(n).Fits(); !fits {
			c.removePod(p, n)
			found.victims = append(found.victims, p)
		}
		return fits
	}
	for _, p := range protected {
		if !try(p) {
			found.violations++
		}
	}
	for _, p := range others {
		try(p)
	}
	if len(protected) > 0 && len(others) > 0 {
		sort.Slice(found.victims, func(i, j int) bool { return compareImportance(found.victims[i], found.victims[j], c.Now) < 0 })
	}
}

// A budget is a PodDisruptionBudget and how many more Pods it allows to disrupt.
type budget struct {
	namespace string
	selector  selector
	allowed   int64
	disrupted map[string]any
}

func budgetsOf(c *Cycle) (all []budget) {
	for _, pdb := range c.Cache.List(kinds.PodDisruptionBudget, "") {
		s := readSelector(fields.Map(pdb.Object, "spec", "selector"))
		if s.isEmpty() || s.nothing {
			continue
		}
		status := fields.Map(pdb.Object, "status")
		all = append(all, budget{pdb.GetNamespace(), s, fields.Int64(status, 0, "disruptionsAllowed"), fields.Map(status, "disruptedPods")})
	}
	return all
}

// splitByBudgets separates the Pods whose deletion would violate a budget, after the deletion of
// the Pods before them, from the other Pods.
func splitByBudgets(c *Cycle, pods []*PodInfo) (protected, others []*PodInfo) {
	budgets := budgetsOf(c)
	for _, p := range pods {
		violated := false
		for i := range budgets {
			b := &budgets[i]
			if _, already := b.disrupted[p.Pod.GetName()]; already || b.namespace != p.namespace || len(p.labels) == 0 || !b.selector.matches(p.labels) {
				continue
			}
			b.allowed--
			violated = violated || b.allowed < 0
		}
		if violated {
			protected = append(protected, p)
		} else {
			others = append(others, p)
		}
	}
	return protected, others
}

// compare puts the candidate first whose victims matter least.
func (found candidate) compare(other candidate, now time.Time) int {
	return cmp.Or(
		cmp.Compare(found.violations, other.violations),
		cmp.Compare(found.victims[0].Priority, other.victims[0].Priority),
		cmp.Compare(found.prioritySum(), other.prioritySum()),
		cmp.Compare(len(found.victims), len(other.victims)),
		other.earliestStart(now).Compare(found.earliestStart(now)),
	)
}

func (found candidate) prioritySum() (sum int64) {
	for _, p := range found.victims {
		sum += p.Priority + 1<<31
	}
	return sum
}

// earliestStart is the earliest start of the victims of the highest priority.
func (found candidate) earliestStart(now time.Time) time.Time {
	earliest := found.victims[0].started(now)
	for _, p := range found.victims {
		if at := p.started(now); p.Priority == found.victims[0].Priority && at.Before(earliest) {
			earliest = at
		}
	}
	return earliest
}
