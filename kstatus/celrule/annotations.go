package celrule

import (
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

// AnnotationPrefix is the prefix of the annotations with which an object, or the
// CustomResourceDefinition of its kind, says what ready means. After it comes the name of a field of
// [Spec]: current, in-progress, failed or message.
const AnnotationPrefix = "stagecraft-go.github.io/"

// annotationFields are the annotations, and the fields of a Spec that they set.
var annotationFields = []struct {
	key string
	set func(*Spec, string)
}{
	{AnnotationPrefix + "current", func(s *Spec, e string) { s.Current = e }},
	{AnnotationPrefix + "in-progress", func(s *Spec, e string) { s.InProgress = e }},
	{AnnotationPrefix + "failed", func(s *Spec, e string) { s.Failed = e }},
	{AnnotationPrefix + "message", func(s *Spec, e string) { s.Message = e }},
}

// longestExpression is the longest expression that is read from an annotation, in bytes.
const longestExpression = 4096

// mostCompiled is how many sets of expressions the rules of [Annotated] keep compiled.
const mostCompiled = 256

// Annotated returns rules that obey the annotations of an object, which come before all others. As
// always, the general rules of kstatus come first. An object whose expressions cannot be compiled is
// Unknown with the reason InvalidExpression; one without annotations is left to the given rules.
//
// The author of an object decides with this when others go on. Expressions have the limits of this
// package, and at most 4 KiB each.
func Annotated(rules *kstatus.Rules) *kstatus.Rules {
	cache := &annotated{compiled: map[Spec]kstatus.Rule{}}
	return rules.With(Rules{schema.GroupKind{Group: "*", Kind: "*"}: cache.judge})
}

// DefinitionRules returns the rules that the annotations of CustomResourceDefinitions state for their
// kinds, for [kstatus.Rules.With]. The error is of type [Errors] and lists all faults.
func DefinitionRules(definitions ...*unstructured.Unstructured) (Rules, error) {
	out, errs := Rules{}, Errors(nil)
	for _, crd := range definitions {
		annotations, _, _ := unstructured.NestedMap(crd.Object, "metadata", "annotations")
		spec, annotated := specOf(annotations)
		if !annotated {
			continue
		}
		spec.Group, _, _ = unstructured.NestedString(crd.Object, "spec", "group")
		spec.Kind, _, _ = unstructured.NestedString(crd.Object, "spec", "names", "kind")
		rules, faults := compileAnnotations(spec)
		for _, f := range faults {
			errs = append(errs, &Error{Path: crd.GetName() + ": " + f.Path, Err: f.Err})
		}
		for kind, rule := range rules {
			out[kind] = rule
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return out, nil
}

// specOf reads annotations, false if none of them is about readiness.
func specOf(annotations map[string]any) (spec Spec, annotated bool) {
	for _, a := range annotationFields {
		if expression, ok := annotations[a.key].(string); ok {
			a.set(&spec, expression)
			annotated = true
		}
	}
	return spec, annotated
}

func compileAnnotations(spec Spec) (Rules, []*position.Error) {
	for _, e := range []string{spec.Current, spec.InProgress, spec.Failed, spec.Message} {
		if len(e) > longestExpression {
			return nil, []*position.Error{{Offset: -1, Err: fmt.Errorf("an expression has %d bytes, more than %d", len(e), longestExpression)}}
		}
	}
	rules, faults := compile("", []Spec{spec})
	for i, f := range faults {
		named := *f
		named.Path = strings.TrimPrefix(named.Path, "[0].")
		faults[i] = &named
	}
	return rules, faults
}

// annotated keeps compiled expressions. It is safe for concurrent use.
type annotated struct {
	mu       sync.Mutex
	compiled map[Spec]kstatus.Rule
}

func (a *annotated) judge(o kstatus.Object) (kstatus.Result, bool) {
	spec, ok := specOf(o.Map("metadata", "annotations"))
	if !ok {
		return kstatus.Result{}, false
	}
	return a.rule(spec)(o)
}

// rule returns the compiled expressions. If too many are kept, it begins again with none.
func (a *annotated) rule(spec Spec) kstatus.Rule {
	a.mu.Lock()
	defer a.mu.Unlock()
	if rule, known := a.compiled[spec]; known {
		return rule
	}
	rule := compiledRule(spec)
	if len(a.compiled) == mostCompiled {
		clear(a.compiled)
	}
	a.compiled[spec] = rule
	return rule
}

// compiledRule returns the rule of a Spec without a kind. If it is at fault, its verdict says so.
func compiledRule(spec Spec) kstatus.Rule {
	spec.Group, spec.Kind = "*", "*"
	rules, faults := compileAnnotations(spec)
	if len(faults) == 0 {
		return rules[schema.GroupKind{Group: "*", Kind: "*"}]
	}
	var texts []string
	for _, e := range placed(nil, faults) {
		texts = append(texts, e.Error())
	}
	r := kstatus.Unknown.Because("InvalidExpression", strings.Join(texts, "; ")).At("metadata.annotations")
	return func(kstatus.Object) (kstatus.Result, bool) { return r, true }
}
