package staged

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stagecraft-go/stagecraft/internal/cron"
	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/internal/eval"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A stage is a compiled v1alpha1.Stage.
type stage struct {
	v1alpha1.Stage
	selectors []labels.Selector // of clusters, any of them
	filter    *eval.Program     // nil: it keeps all objects
	condition *eval.Program     // nil: never true
	failure   *eval.Program     // nil: never true
	conjuncts []conjunct        // of condition
	windows   []window
	full      string          // the name of its BindingPolicy
	gates     []*eval.Program // conditions of Gates
	readsTime bool            // condition or failure changes with time alone
	soak      time.Duration
	batchSoak *time.Duration // nil: soak
	// The deadlines; 0: none.
	deadline, stageDeadline, approvalTimeout, clusterDeadline, deliveryDeadline time.Duration
	minSuccess                                                                  time.Duration // of a cluster
	maxSilent, maxFailures                                                      threshold
	maxConcurrency                                                              *threshold // nil: all clusters at once
	perCluster                                                                  *threshold // maxUnavailable; nil: clusters are not treated one by one
	guards                                                                      v1alpha1.Guards
}

// maxUnavailable returns how many of the clusters of a stage with perCluster may be without
// success.
func (s *stage) maxUnavailable(total int) int { return max(1, s.perCluster.of(total)) }

func (s *stage) minDestinations() int {
	if s.guards.MinDestinations == nil {
		return 1
	}
	return int(*s.guards.MinDestinations)
}

// conditionsReadTime reports whether the condition or the failure condition reads the time.
func (s *stage) conditionsReadTime() bool {
	return slices.ContainsFunc([]*eval.Program{s.condition, s.failure}, func(p *eval.Program) bool {
		return p != nil && (p.Reads("now") || p.Reads("since"))
	})
}

func (c *compiler) stage(i int) *stage {
	spec := c.definition.policy.Spec
	s := &stage{Stage: spec.Stages[i], full: c.definition.policy.Name + v1alpha1.StageSeparator + spec.Stages[i].Name}
	path := position.Index("spec.stages", i)
	c.name(i)
	if len(s.ClusterSelectors) == 0 {
		c.warn(path+".clusterSelectors", "missing: the stage selects no cluster")
	}
	for j := range s.ClusterSelectors {
		s.selectors = append(s.selectors, c.selector(position.Index(path+".clusterSelectors", j), &s.ClusterSelectors[j]))
	}
	s.filter = c.expression(path+".filter", s.Filter, c.env.filter)
	s.condition = c.expression(path+".condition", s.Condition, c.env.condition)
	s.failure = c.expression(path+".failureCondition", s.FailureCondition, c.env.condition)
	s.readsTime = s.conditionsReadTime()
	if s.condition != nil {
		s.conjuncts = c.conjuncts(s.condition)
		c.constant(path+".condition", s.condition)
	} else if s.Condition == "" && (s.FailureCondition != "" || s.ProgressDeadlineSeconds != nil || s.StageDeadlineSeconds != nil) {
		c.warn(path+".condition", "missing: neither failureCondition nor progressDeadlineSeconds is looked at")
	}
	if s.Condition == "" && i < len(spec.Stages)-1 {
		c.warn(path+".condition", "missing before the last stage: the rollout stops here")
	}
	if asked := c.statusCollectors(); s.condition != nil && len(asked) == 0 && (s.Guards == nil || !s.Guards.AllowEmpty) {
		c.warn(path+".condition", "it is never asked: no clause of spec.downsync has statusCollectors, so that there is no CombinedStatus")
	}
	c.collectors(path+".condition", s.condition)
	c.collectors(path+".failureCondition", s.failure)
	for n, g := range s.Gates {
		s.gates = append(s.gates, c.objectGate(position.Index(path+".gates", n), g))
	}
	c.gates(path, i, s)
	return s
}

func (c *compiler) expression(path, source string, env *eval.Compiler) *eval.Program {
	if source == "" {
		return nil
	}
	p, err := env.Bool(source)
	for _, e := range position.Below(path, err) {
		c.add(hinted(source, e))
	}
	return p
}

// constant warns of a condition without variables that is not true.
func (c *compiler) constant(path string, p *eval.Program) {
	if len(p.Variables()) > 0 {
		return
	}
	switch ok, err := p.Bool(nil); {
	case err != nil:
		c.warn(path, "it is never true: "+err.Error())
	case !ok:
		c.warn(path, "it is never true")
	}
}

// collectors checks that every collector that an expression names is in a clause of spec.downsync.
func (c *compiler) collectors(path string, p *eval.Program) {
	if p == nil {
		return
	}
	asked := c.statusCollectors()
	for _, named := range p.Collectors() {
		if slices.Contains(asked, named.Text) {
			continue
		}
		err := fmt.Errorf("collector %q is in no statusCollectors of spec.downsync", named.Text)
		if near := position.Nearest(named.Text, asked); near != "" {
			err = fmt.Errorf("%w; did you mean %q?", err, near)
		}
		c.add(&position.Error{Path: path, Offset: named.Offset, Err: err})
	}
}

// statusCollectors returns the names of the collectors of all clauses.
func (c *compiler) statusCollectors() (names []string) {
	for _, clause := range c.definition.policy.Spec.Downsync {
		names = append(names, clause.StatusCollectors...)
	}
	return names
}

func (c *compiler) selector(path string, s *metav1.LabelSelector) labels.Selector {
	compiled, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		c.faultf(path, "%v", err)
	}
	return compiled
}

// downsync checks the clauses that choose the workload.
func (c *compiler) downsync() {
	for i, clause := range c.definition.policy.Spec.Downsync {
		path := position.Index("spec.downsync", i)
		if clause.DownsyncModulation = (control.DownsyncModulation{}); reflect.DeepEqual(clause, control.DownsyncPolicyClause{}) {
			c.warn(path, "chooses all there is, which an API server refuses: want one of apiGroup, resources, namespaces, objectNames and the selectors")
		}
		for j := range clause.ObjectSelectors {
			c.selector(position.Index(path+".objectSelectors", j), &clause.ObjectSelectors[j])
		}
		for j := range clause.NamespaceSelectors {
			c.selector(position.Index(path+".namespaceSelectors", j), &clause.NamespaceSelectors[j])
		}
	}
}

// someTime is where the compiler, which does not know the present time, begins to search for times
// at which windows are open.
var someTime = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// windows compiles the windows of a stage. It warns of a window that never opens, and of windows
// that together never let the stage start.
func (c *compiler) windows(path string, s *stage) {
	sound := true
	for i, w := range s.Windows {
		compiled, ok := c.window(position.Index(path, i), w)
		s.windows = append(s.windows, compiled)
		sound = sound && ok
	}
	if !sound {
		return
	}
	for i, w := range s.windows {
		if _, ever := w.next(someTime); !ever {
			c.warn(position.Index(path, i)+".cron", "this date never comes: the window never opens")
		}
	}
	if at, found := opening(s.windows, someTime); !found && at.IsZero() {
		c.warn(path, "they are never open: the stage will never be started")
	}
}

func (c *compiler) window(path string, w v1alpha1.Window) (compiled window, ok bool) {
	ok = true
	check := func(field string, err error) {
		if err != nil {
			c.faultf(path+field, "%w", err)
			ok = false
		}
	}
	compiled = window{duration: w.Duration.Duration, deny: w.Deny}
	var err error
	compiled.schedule, err = cron.Parse(w.Cron)
	check(".cron", err)
	if compiled.duration <= 0 || compiled.duration > maxWindow {
		check(".duration", fmt.Errorf("want more than 0 and at most %s", maxWindow))
	}
	compiled.zone, err = loadZone(w.TimeZone)
	check(".timeZone", err)
	return compiled.merged(), ok
}
