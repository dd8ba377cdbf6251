package celrule

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	celtypes "github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A Spec holds the expressions for the objects of a kind. Only Kind and Current are required.
type Spec struct {
	Group      string `json:"group,omitempty"`      // "" for core; "*" and "*.example.com" as in [kstatus.Rules.With]
	Kind       string `json:"kind"`                 // "*" for all kinds of the group
	InProgress string `json:"inProgress,omitempty"` // bool: the object is in progress
	Failed     string `json:"failed,omitempty"`     // bool: it has failed
	Current    string `json:"current"`              // bool: it is ready
	Message    string `json:"message,omitempty"`    // string: the message; "": it says which expression decided
}

// Rules are compiled Specs by kind, for [kstatus.Rules.With].
type Rules = map[schema.GroupKind]kstatus.Rule

// Compile compiles Specs. If there is any fault, it returns no rules and an error of type [Errors],
// which lists all faults.
func Compile(specs ...Spec) (Rules, error) {
	rules, faults := compile("", specs)
	if len(faults) > 0 {
		return nil, placed(nil, faults)
	}
	return rules, nil
}

// Parse reads documents from YAML or JSON text and compiles the rules in them. A document has the
// form {rules: [Spec, …]} or is one of Flux: {healthCheckExprs: [HealthCheck, …]}, or a Kustomization
// with these in its spec. The name is that of the text in errors, such as a file name. Unknown
// fields are faults, and so is a text without rules.
func Parse(name string, data []byte) (Rules, error) {
	docs, located := position.Parse(name, data)
	var errs Errors
	for _, f := range located {
		errs = append(errs, &Error{Position(f.Position), f.Path, f.Err})
	}
	all := Rules{}
	for _, doc := range docs {
		rules, faults := decode(doc)
		errs = append(errs, placed(doc, append(faults, merge(all, rules)...))...)
	}
	if len(errs) == 0 && len(all) == 0 {
		errs = Errors{{Position: Position{File: name, Line: 1}, Err: errNoRules}}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return all, nil
}

var errNoRules = errors.New("there are no rules: neither rules nor healthCheckExprs")

// file is a document of Specs.
type file struct {
	Rules []Spec `json:"rules"`
}

// decode compiles the rules of a document.
func decode(doc *position.Document) (Rules, []*position.Error) {
	if path, checks := fluxChecks(doc.Value); path != "" {
		return decodeFlux(doc, path, checks)
	}
	var f file
	faults := doc.Decode(&f)
	rules, more := compile("rules", f.Rules)
	return rules, unlessAround(faults, more)
}

// unlessAround returns faults, and more of them where no field around is at fault.
func unlessAround(faults, more []*position.Error) []*position.Error {
	for _, e := range more {
		if !slices.ContainsFunc(faults, func(f *position.Error) bool { return around(f.Path, e.Path) }) {
			faults = append(faults, e)
		}
	}
	return faults
}

// around reports whether a field is the other one or contains it. A field that cannot be read is
// not also reported as missing.
func around(path, inner string) bool { return inner == path || strings.HasPrefix(inner, path+".") }

// merge adds the rules of a document to those of the documents before.
func merge(all, rules Rules) (faults []*position.Error) {
	for kind, rule := range rules {
		if _, twice := all[kind]; twice {
			faults = append(faults, &position.Error{Path: "rules", Offset: -1, Err: fmt.Errorf("there are rules for %s already", kind)})
		}
		all[kind] = rule
	}
	slices.SortFunc(faults, func(a, b *position.Error) int { return strings.Compare(a.Err.Error(), b.Err.Error()) })
	return faults
}

// placed adds to faults their positions in a document, which may be nil.
func placed(doc *position.Document, faults []*position.Error) Errors {
	errs := make(Errors, len(faults))
	for i, f := range faults {
		errs[i] = &Error{Path: f.Path, Err: f.Err}
		if doc != nil {
			errs[i].Position = Position(doc.Locate(f))
		}
	}
	return errs
}

func compile(path string, specs []Spec) (Rules, []*position.Error) {
	return newCompiler(topLevel).compile(path, specs)
}

// A compiler compiles Specs whose expressions may use some fields of the object by their names.
type compiler struct {
	expressions *expression.Compiler
	names       []string
}

func newCompiler(names []string) compiler {
	return compiler{expression.NewCompiler(expression.Options{}, names...), names}
}

func (c compiler) compile(path string, specs []Spec) (Rules, []*position.Error) {
	rules, faults := Rules{}, position.Faults{}
	for i, spec := range specs {
		at := position.Index(path, i)
		kind := schema.GroupKind{Group: spec.Group, Kind: spec.Kind}
		if _, twice := rules[kind]; twice && spec.Kind != "" {
			faults.Addf(at, "there are rules for %s already", kind)
		}
		faults.Add(position.Below(position.Field(at, "group"), checkGroup(spec.Group))...)
		faults.Add(position.Below(position.Field(at, "kind"), checkKind(spec.Group, spec.Kind))...)
		r, errs := c.rule(spec)
		faults.Add(below(at, errs)...)
		rules[kind] = r.judge
	}
	return rules, position.All(faults.Err())
}

func below(path string, errs []*position.Error) (out []*position.Error) {
	for _, e := range errs {
		out = append(out, position.Below(path, e)...)
	}
	return out
}

var errNoCurrent = errors.New("is required: no object would ever be ready")

func (c compiler) rule(spec Spec) (*rule, []*position.Error) {
	r, faults := &rule{names: c.names}, position.Faults{}
	for _, line := range [...]struct {
		field, source string
		status        kstatus.Status
	}{
		{"inProgress", spec.InProgress, kstatus.InProgress},
		{"failed", spec.Failed, kstatus.Failed},
		{"current", spec.Current, kstatus.Current},
	} {
		if line.source == "" {
			continue
		}
		program, err := c.expressions.CEL(line.source, celtypes.BoolType)
		faults.Add(hinted(line.source, position.Below(line.field, err))...)
		r.lines = append(r.lines, test{line.field, line.status, program})
		r.readsStatus = r.readsStatus || readsStatus(line.source)
	}
	if spec.Current == "" {
		faults.Add(&position.Error{Path: "current", Offset: -1, Err: errNoCurrent})
	}
	if spec.Message != "" {
		program, err := c.expressions.CEL(spec.Message, celtypes.StringType)
		faults.Add(hinted(spec.Message, position.Below("message", err))...)
		r.message = program
	}
	return r, position.All(faults.Err())
}
