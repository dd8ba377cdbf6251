package definitions

import (
	"fmt"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/celpatterns"
)

// These limits bound the work for one object and one definition. They are counted before the work
// is done.
const (
	// maxSteps is the limit for the validation of one object, without its CEL rules, which have the
	// cost limits of kube-apiserver. A step is one state of a pattern looked at for one byte of text,
	// or the comparison with one value; it takes about 5 ns.
	maxSteps = 100_000_000

	// maxDefaults is the limit of the defaults that are filled into one object, in bytes.
	maxDefaults = 3 << 20

	// maxStates is the limit of the states of all patterns of one definition, each pattern counted
	// once. A state takes about 100 bytes.
	maxStates = 50_000

	// maxKept is the limit of the states of the patterns of all definitions that a process has had,
	// each pattern counted once: the validators of Kubernetes keep what they have compiled. A definition
	// with at most usualStates of new patterns is accepted beyond it: one client must not use it up for others.
	maxKept     = 2_000_000
	usualStates = 1_000
)

// weights say what the values of a part of a schema cost. They are immutable.
type weights struct {
	fixed      int // steps for each value
	perByte    int // steps for each byte of a string
	nested     int // how many checks in allOf, anyOf, oneOf and not are about all members or items
	properties map[string]*weights
	defaults   map[string]int // sizes of the defaults of properties, in bytes, with the defaults inside
	others     *weights       // of additional properties
	items      *weights
	nullItem   int // the size of the default for a null item
	nullOther  int
}

func weightsOf(s *structural.Structural) *weights {
	w := &weights{fixed: 1, properties: map[string]*weights{}, defaults: map[string]int{}}
	for name, p := range s.Properties {
		w.properties[name] = weightsOf(&p)
		if p.Default.Object != nil {
			w.defaults[name] = w.properties[name].filled(p.Default.Object)
		}
	}
	if s.Items != nil {
		w.items = weightsOf(s.Items)
		w.nullItem = w.items.filled(s.Items.Default.Object)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		w.others = weightsOf(s.AdditionalProperties.Structural)
		w.nullOther = w.others.filled(s.AdditionalProperties.Structural.Default.Object)
	}
	if s.ValueValidation != nil {
		w.add(s.ValueValidation)
	}
	return w
}

// add adds the checks of values.
func (w *weights) add(v *structural.ValueValidation) {
	w.fixed, w.perByte = w.fixed+1, w.perByte+1
	for _, e := range v.Enum {
		w.fixed += 1 + sizeOf(e.Object)/8
	}
	if v.Pattern != "" {
		w.perByte += celpatterns.States(v.Pattern)
	}
	for _, all := range [][]structural.NestedValueValidation{v.AllOf, v.AnyOf, v.OneOf} {
		for i := range all {
			w.addNested(&all[i])
		}
	}
	if v.Not != nil {
		w.addNested(v.Not)
	}
}

func (w *weights) addNested(n *structural.NestedValueValidation) {
	w.add(&n.ValueValidation)
	if w.properties == nil {
		w.properties = map[string]*weights{}
	}
	for name, p := range n.Properties {
		if w.properties[name] == nil {
			w.properties[name] = &weights{}
		}
		w.properties[name].addNested(&p)
	}
	if n.Items != nil {
		if w.items == nil {
			w.items = &weights{}
		}
		w.items.addNested(n.Items)
		w.nested++
	}
	if n.AdditionalProperties != nil {
		if w.others == nil {
			w.others = &weights{}
		}
		w.others.addNested(n.AdditionalProperties)
		w.nested++
	}
}

// property returns the weights of a member; nil for a member that the schema does not describe.
func (w *weights) property(name string) *weights {
	if p := w.properties[name]; p != nil {
		return p
	}
	return w.others
}

// A budget is what is left of the limits for one object.
type budget struct {
	steps, bytes int
	ofValues     bool // texts take no steps
}

// A place is a path to a value, the last element first.
type place []any

func (p place) path() *field.Path {
	var path *field.Path
	for _, e := range slices.Backward(p) {
		switch e := e.(type) {
		case string:
			path = path.Child(e)
		case int:
			path = path.Index(e)
		}
	}
	return path
}

// validate takes the steps of a value. It returns where the budget ends, and true.
func (b *budget) validate(v any, w *weights) (place, bool) {
	if w == nil {
		return nil, false
	}
	b.steps -= w.fixed
	switch v := v.(type) {
	case string:
		if !b.ofValues {
			b.steps -= w.perByte * len(v)
		}
	case map[string]any:
		b.steps -= w.nested * perPair * len(v) * len(v)
		for name, member := range v {
			if at, ends := b.validate(member, w.property(name)); ends {
				return append(at, name), true
			}
		}
	case []any:
		b.steps -= w.nested * perPair * len(v) * len(v)
		for i, item := range v {
			if at, ends := b.validate(item, w.items); ends {
				return append(at, i), true
			}
		}
	}
	return nil, b.steps < 0
}

// fill takes the bytes of the defaults that a value would get.
func (b *budget) fill(v any, w *weights) (place, bool) {
	if w == nil {
		return nil, false
	}
	switch v := v.(type) {
	case map[string]any:
		for name, bytes := range w.defaults {
			if v[name] == nil {
				b.bytes -= bytes
			}
		}
		for name, member := range v {
			if member == nil {
				b.bytes -= w.nullOther
			}
			if at, ends := b.fill(member, w.property(name)); ends {
				return append(at, name), true
			}
		}
	case []any:
		for i, item := range v {
			if item == nil {
				b.bytes -= w.nullItem
			}
			if at, ends := b.fill(item, w.items); ends {
				return append(at, i), true
			}
		}
	}
	return nil, b.bytes < 0
}

// filled returns the size of a default with the defaults inside.
func (w *weights) filled(v any) int {
	b := budget{}
	_, _ = b.fill(v, w)
	return sizeOf(v) + min(-b.bytes, maxDefaults+1)
}

// affords returns a fault if a value needs more than the limits.
func (w *weights) affords(v any, spend func(*budget, any, *weights) (place, bool)) field.ErrorList {
	b := &budget{steps: maxSteps, bytes: maxDefaults}
	at, ends := spend(b, v, w)
	switch {
	case !ends:
		return nil
	case b.bytes < 0:
		return field.ErrorList{field.Forbidden(at.path(), fmt.Sprintf("the defaults of the object take more than %d bytes", maxDefaults))}
	}
	return field.ErrorList{field.Forbidden(at.path(), fmt.Sprintf("the validation of the object takes more than %d steps here: shorten the text or the list, or simplify the pattern or the schema", maxSteps))}
}

// sizeOf returns about how many bytes a value has as JSON.
func sizeOf(v any) (n int) {
	switch v := v.(type) {
	case nil:
		return 0
	case string:
		return 2 + len(v)
	case map[string]any:
		for name, member := range v {
			n += len(name) + 4 + sizeOf(member)
		}
		return n + 2
	case []any:
		for _, item := range v {
			n += 1 + sizeOf(item)
		}
		return n + 2
	}
	return 8
}

// rulePatterns are the patterns in the CEL rules of a schema.
type rulePatterns struct {
	states   int  // of the largest pattern
	computed bool // there are patterns that the objects make
}

func (p *rulePatterns) addRules(rules apiextensionsv1.ValidationRules) {
	for _, rule := range rules {
		for _, expression := range []string{rule.Rule, rule.MessageExpression} {
			most, computed := celpatterns.Of(expression)
			p.states, p.computed = max(p.states, most), p.computed || computed
		}
	}
}

func (p *rulePatterns) add(s *structural.Structural) {
	p.addRules(s.XValidations)
	for _, inner := range s.Properties {
		p.add(&inner)
	}
	if s.Items != nil {
		p.add(s.Items)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		p.add(s.AdditionalProperties.Structural)
	}
}

// affords returns a fault if one match of a pattern with all texts of an object takes too many
// steps. How often rules match is limited by the cost limits of CEL.
func (p rulePatterns) affords(obj map[string]any) field.ErrorList {
	states := p.states
	if p.computed {
		states = max(states, statesIn(obj))
	}
	if n := sizeOf(obj); states == 0 || states <= maxSteps/max(n, 1) {
		return nil
	}
	return field.ErrorList{field.Forbidden(nil, fmt.Sprintf("a pattern in x-kubernetes-validations takes more than %d steps for this object: shorten the object, or simplify the pattern", maxSteps))}
}

// statesIn returns the states of the texts of a value, if one is used as a pattern.
func statesIn(v any) (most int) {
	switch v := v.(type) {
	case string:
		return celpatterns.States(v)
	case map[string]any:
		for _, member := range v {
			most = max(most, statesIn(member))
		}
	case []any:
		for _, item := range v {
			most = max(most, statesIn(item))
		}
	}
	return most
}

// patternFaults returns a fault if the patterns of a definition have too many states.
func patternFaults(crd *apiextensions.CustomResourceDefinition) field.ErrorList {
	found, sum := map[string]int{}, 0
	visit := func(s *apiextensions.JSONSchemaProps) {
		if _, known := found[s.Pattern]; s.Pattern != "" && !known {
			found[s.Pattern] = celpatterns.States(s.Pattern)
			sum += found[s.Pattern]
		}
	}
	if crd.Spec.Validation != nil {
		visitSchemas(crd.Spec.Validation.OpenAPIV3Schema, visit)
	}
	for _, v := range crd.Spec.Versions {
		if v.Schema != nil {
			visitSchemas(v.Schema.OpenAPIV3Schema, visit)
		}
	}
	fault := ""
	switch {
	case sum > maxStates:
		fault = fmt.Sprintf("the patterns of the schemas have %d states: the limit is %d; use smaller repetitions", sum, maxStates)
	case !compiled.add(found):
		fault = fmt.Sprintf("the patterns of all definitions that this process has had would have more than %d states, and are never forgotten; new ones may have %d: use smaller repetitions, or another process", maxKept, usualStates)
	default:
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "versions"), fault)}
}

// compiled are the patterns of all definitions of this process.
var compiled = patterns{limit: maxKept}

// patterns are what validators keep.
type patterns struct {
	mu     sync.Mutex
	limit  int // of states
	states int
	known  map[string]struct{}
}

// add adds patterns with their states. It adds nothing and returns false if that were too many.
func (p *patterns) add(found map[string]int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := p.states
	for text, states := range found {
		if _, known := p.known[text]; !known {
			sum += states
		}
	}
	if sum > p.limit && sum-p.states > usualStates {
		return false
	}
	if p.known == nil {
		p.known = map[string]struct{}{}
	}
	for text := range found {
		p.known[text] = struct{}{}
	}
	p.states = sum
	return true
}

// visitSchemas calls a function for a schema and all schemas inside.
func visitSchemas(s *apiextensions.JSONSchemaProps, visit func(*apiextensions.JSONSchemaProps)) {
	if s == nil {
		return
	}
	visit(s)
	visitSchemas(s.Not, visit)
	for _, all := range [][]apiextensions.JSONSchemaProps{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range all {
			visitSchemas(&all[i], visit)
		}
	}
	for _, all := range []map[string]apiextensions.JSONSchemaProps{s.Properties, s.PatternProperties, s.Definitions} {
		for _, p := range all {
			visitSchemas(&p, visit)
		}
	}
	if s.Items != nil {
		visitSchemas(s.Items.Schema, visit)
		for i := range s.Items.JSONSchemas {
			visitSchemas(&s.Items.JSONSchemas[i], visit)
		}
	}
	if s.AdditionalProperties != nil {
		visitSchemas(s.AdditionalProperties.Schema, visit)
	}
}

// mostFaults is how many faults of an object are told, and longestValue how many bytes of a value
// one fault shows.
const (
	mostFaults   = 100
	longestValue = 10 << 10
)

// shortened returns faults whose text is not much longer than that of the object.
func shortened(faults field.ErrorList) field.ErrorList {
	if more := len(faults) - mostFaults; more > 0 {
		faults = append(faults[:mostFaults:mostFaults], field.Invalid(nil, nil, fmt.Sprintf("%d more faults", more)))
	}
	for _, f := range faults {
		if n := sizeOf(f.BadValue); n > longestValue {
			f.BadValue = fmt.Sprintf("(a value of %d bytes)", n)
		}
	}
	return faults
}
