package staged

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// Options of [Compile]. The zero value is the default.
type Options struct {
	// Cost limits an evaluation of an expression, in steps of about 100 ns. Default 100,000.
	Cost uint64
	// DecisionCost limits all evaluations of one decision together, in the same units. Objects
	// beyond it are evaluated by the next decisions. Default 10,000,000.
	DecisionCost uint64
	// ClusterLabel is the label that holds the name of a cluster. The batches of a stage with
	// maxConcurrency select clusters by it. Default "name".
	ClusterLabel string
}

// A Policy is a compiled StagedBindingPolicy. It is immutable and safe for concurrent use.
type Policy struct {
	object       v1alpha1.StagedBindingPolicy
	stages       []*stage
	plan         string // a hash of what is placed where
	placed       string // a hash of downsync
	clusterLabel string
	decisionCost uint64
	warnings     Errors
}

// Name returns metadata.name.
func (p *Policy) Name() string { return p.object.Name }

// Definition returns the StagedBindingPolicy that was compiled. It must not be changed.
func (p *Policy) Definition() v1alpha1.StagedBindingPolicy { return p.object }

// Places reports whether clauses are those of spec.downsync, whether or not they hold what clusters
// have.
func (p *Policy) Places(clauses []control.DownsyncPolicyClause, hold bool) bool {
	want := p.object.Spec.Downsync
	if hold {
		want = Held(want)
	}
	return hashOf(clauses) == hashOf(want)
}

// Selects reports whether a stage selects a cluster with these labels. It is false for nil, which is a
// cluster that does not exist.
func (p *Policy) Selects(have map[string]string) bool {
	return have != nil && slices.ContainsFunc(p.stages, func(s *stage) bool { return s.selects(have) })
}

// Held returns clauses that never update an object that a cluster has.
func Held(clauses []control.DownsyncPolicyClause) []control.DownsyncPolicyClause {
	clauses = slices.Clone(clauses)
	for i := range clauses {
		clauses[i].CreateOnly = true
	}
	return clauses
}

// index returns the index of a stage; -1 if the spec has no stage of that name.
func (p *Policy) index(name string) int {
	return slices.IndexFunc(p.stages, func(s *stage) bool { return s.Name == name })
}

// requires returns the evidence that a stage asks for.
func (p *Policy) requires(stage string) fleet.Evidence {
	want := p.object.Spec.RequireEvidence
	if i := p.index(stage); i >= 0 {
		want = cmp.Or(p.stages[i].RequireEvidence, want)
	}
	switch {
	case want == v1alpha1.Exact:
		return fleet.EvidenceExact
	case want == v1alpha1.None, want == "" && !p.stagesUpdates():
		return fleet.EvidenceNone
	}
	return fleet.EvidenceOrdered
}

func (p *Policy) stagesUpdates() bool { return p.object.Spec.Updates == v1alpha1.Staged }

// Warnings returns what Compile found doubtful but did not refuse.
func (p *Policy) Warnings() Errors { return slices.Clone(p.warnings) }

// Compile checks and compiles the policies of all sources, in order. If there are faults, it
// returns [Errors] with every fault, and no policies. Each fault names its policy, so that a caller
// can leave that policy out and compile the others. Sources that hold no policy at all are a fault.
func Compile(o Options, sources ...Source) ([]*Policy, error) {
	env, err := newEnvironments(o.Cost)
	if err != nil {
		return nil, err
	}
	var policies []*Policy
	var faults Errors
	fatal := false
	names := map[string]bool{}
	for _, s := range sources {
		found := slices.Clone(s.faults)
		for _, d := range s.definitions {
			c := &compiler{env: env, definition: d, known: s.faults}
			p := c.policy(o)
			if policies = append(policies, p); p.Name() != "" && names[p.Name()] {
				c.faultf("metadata.name", "another policy has this name")
			}
			names[p.Name()] = true
			found = append(found, c.faults...)
		}
		slices.SortStableFunc(found, byPosition)
		faults = append(faults, found...)
		fatal = fatal || slices.ContainsFunc(found, func(e *Error) bool { return !e.Warning })
	}
	if len(policies) == 0 && !fatal {
		faults, fatal = noPolicy(sources), len(sources) > 0
	}
	if fatal {
		return nil, faults
	}
	return policies, nil
}

func noPolicy(sources []Source) (faults Errors) {
	for _, s := range sources {
		faults = append(faults, &Error{Position: Position{File: s.name}, Err: errors.New("no StagedBindingPolicy here")})
	}
	return faults
}

func byPosition(a, b *Error) int {
	p, q := a.Position, b.Position
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// A compiler compiles one definition.
type compiler struct {
	env        environments
	definition definition
	known      Errors // faults found while reading
	faults     Errors
}

// add records a fault, unless its field was at fault already when it was read.
func (c *compiler) add(e *position.Error) *Error {
	fault := locate(c.definition.doc, c.definition.policy.Name, e)
	if !slices.ContainsFunc(c.known, func(f *Error) bool { return f.Path == fault.Path && f.Policy == fault.Policy }) {
		c.faults = append(c.faults, fault)
	}
	return fault
}

func (c *compiler) faultf(path, format string, args ...any) {
	c.add(&position.Error{Path: path, Offset: -1, Err: fmt.Errorf(format, args...)})
}

func (c *compiler) warn(path, text string) {
	c.add(&position.Error{Path: path, Offset: -1, Err: errors.New(text)}).Warning = true
}

func (c *compiler) policy(o Options) *Policy {
	spec := &c.definition.policy.Spec
	p := &Policy{object: c.definition.policy, plan: planOf(spec), clusterLabel: cmp.Or(o.ClusterLabel, "name"),
		decisionCost: cmp.Or(o.DecisionCost, 10_000_000), placed: hashOf(spec.Downsync)}
	c.part("metadata.name", p.Name())
	c.downsync()
	c.oneOf("spec.retention", string(spec.Retention), string(v1alpha1.Move), string(v1alpha1.Keep))
	c.oneOf("spec.onChange", string(spec.OnChange), string(v1alpha1.Ignore), string(v1alpha1.Restart))
	c.oneOf("spec.updates", string(spec.Updates), string(v1alpha1.AtOnce), string(v1alpha1.Staged))
	c.oneOf("spec.requireEvidence", string(spec.RequireEvidence), string(v1alpha1.Exact), string(v1alpha1.Ordered), string(v1alpha1.None))
	c.oneOf("spec.approvals", string(spec.Approvals), string(v1alpha1.Annotations), string(v1alpha1.Objects))
	c.oneOf("spec.deletionPolicy", string(spec.DeletionPolicy), string(v1alpha1.Orphan), string(v1alpha1.Delete))
	if p.DeletionPolicy() == "" && spec.Retention == v1alpha1.Keep {
		c.warn("spec.deletionPolicy", "missing: a deletion of this object takes the workload from all its clusters; Orphan leaves it there")
	}
	c.revisions()
	c.adopt()
	c.updates()
	if len(spec.Stages) == 0 {
		c.faultf("spec.stages", "want at least one stage")
	}
	for i := range spec.Stages {
		p.stages = append(p.stages, c.stage(i))
	}
	for _, f := range c.faults {
		if f.Warning {
			p.warnings = append(p.warnings, f)
		}
	}
	slices.SortStableFunc(p.warnings, byPosition)
	return p
}

func (c *compiler) oneOf(path, value string, allowed ...string) {
	if value != "" && !slices.Contains(allowed, value) {
		c.faultf(path, "want %s, got %q", strings.Join(allowed, " or "), value)
	}
}

// batchDigits is how many characters the name of a batch adds to that of its stage: a dot and a
// number.
const batchDigits = len(".9999")

// part checks a name that becomes a part of the names of BindingPolicies.
func (c *compiler) part(path, name string) (sound bool) {
	switch {
	case name == "":
		c.faultf(path, "missing")
	case strings.Contains(name, v1alpha1.StageSeparator):
		c.faultf(path, "must not contain %q", v1alpha1.StageSeparator)
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		c.faultf(path, "%q is no object name: want lower-case letters, digits, - and ., with a letter or digit first, last and beside each dot", name)
	default:
		return true
	}
	return false
}

// name checks that the names of the BindingPolicies of a stage are unique, object names, and label
// values: KubeStellar makes labels of them.
func (c *compiler) name(i int) {
	path := position.Index("spec.stages", i) + ".name"
	policy, spec := c.definition.policy, c.definition.policy.Spec
	name := spec.Stages[i].Name
	full := policy.Name + v1alpha1.StageSeparator + name
	length := len(full)
	if spec.Stages[i].MaxConcurrency != nil || spec.Stages[i].PerCluster != nil {
		length += batchDigits
	}
	if c.part(path, name) && length > validation.LabelValueMaxLength {
		c.faultf(path, "%s has %d characters, over the %d of a label value", full, length, validation.LabelValueMaxLength)
	}
	if name == "" {
		return
	}
	for j, other := range spec.Stages[:i] {
		if other.Name == name {
			c.faultf(path, "stage %d has this name too", j)
		}
	}
	for _, other := range spec.Stages {
		if other.MaxConcurrency == nil && other.PerCluster == nil {
			continue
		}
		if rest, ok := strings.CutPrefix(name, other.Name+"."); ok && isNumber(rest) {
			c.faultf(path, "a batch of stage %q has this name", other.Name)
		}
	}
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// planOf returns a hash of what a policy places where: what OnChange watches.
func planOf(spec *v1alpha1.Spec) string {
	type part struct{ Name, Clusters any }
	parts := []any{spec.Downsync}
	for _, s := range spec.Stages {
		parts = append(parts, part{s.Name, s.ClusterSelectors})
	}
	return hashOf(parts)
}

// hashOf returns a hash of plain data.
func hashOf(data any) string {
	raw, err := json.Marshal(data)
	if err != nil { // cannot happen with plain data
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// batchHash is the hash of a batch with these clusters.
func (p *Policy) batchHash(names []string) string {
	h := fnv.New64a()
	for _, name := range names {
		h.Write([]byte(name + "/")) // never fails
	}
	return p.placed + strconv.FormatUint(h.Sum64(), 16)
}

// A threshold is a number, or a percentage of a number, rounded down.
type threshold struct {
	value   int
	percent bool
}

func (t threshold) of(total int) int {
	if t.percent {
		return t.value * total / 100
	}
	return t.value
}

func (c *compiler) threshold(path string, v *intstr.IntOrString, least int) *threshold {
	if v == nil {
		return nil
	}
	t := threshold{value: v.IntValue(), percent: v.Type == intstr.String}
	if t.percent {
		number, ok := strings.CutSuffix(v.StrVal, "%")
		n, err := strconv.Atoi(number)
		t.value = n
		if !ok || err != nil {
			c.faultf(path, "want a number or a percentage, got %q", v.StrVal)
			return nil
		}
	}
	if t.value < least || t.percent && t.value > 100 {
		c.faultf(path, "want at least %d, and at most 100%%, got %s", least, v.String())
	}
	return &t
}

// ClusterLabel returns the label that holds the name of a cluster.
func (p *Policy) ClusterLabel() string { return p.clusterLabel }
