package stage

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/internal/parts"
	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/internal/random"
	"github.com/stagecraft-go/stagecraft/render"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// Options of [Compile]. The zero value is strict, has the default limits, and takes addresses from
// a new [render.Network].
type Options struct {
	// Lenient turns faults that leave a Stage usable into warnings: unknown fields, keys given
	// twice, jq and cel in one expression, Stages of the same name for one kind. Expressions that
	// do not compile stay errors.
	Lenient bool
	// Extensions lets Stages use [delay.ExtensionAnnotation] and [PatchesExtension]. Without the
	// option, a Stage with such an annotation is a fault.
	Extensions bool
	// Env gives templates the addresses of nodes and pods. It must be safe for concurrent use.
	Env render.Env
	// Funcs are more template functions, as text/template takes them. They replace built-in
	// functions of the same name and must be safe for concurrent use.
	Funcs map[string]any
	// JQFunctions and CELOptions are further functions for expressions, as in [selector.Options].
	JQFunctions map[string]func(input any, args []any) any
	CELOptions  []cel.EnvOption
	// MissingKeyError makes it an error that a template reads a missing field. By default a missing
	// field prints <no value>.
	MissingKeyError bool
	// Version and StartTime are the results of the template functions Version and StartTime.
	Version   string
	StartTime time.Time
	// Limits of one evaluation of an expression or a template:
	//
	//   - JQSteps: instructions of a jq program
	//   - ExpressionSize: bytes that a jq program builds and reads, or that one operator of a CEL
	//     expression builds
	//   - CELCost: steps of about 100 ns of a CEL expression
	//   - TemplateSteps: work units of a template
	//   - TemplateSize: bytes that a template prints
	//
	// The limits count work and not time, so that a result does not depend on the machine. Zero
	// means the default. With the defaults an evaluation takes at most about a tenth of a second
	// and 64 MiB, for any object. An evaluation that would exceed a limit returns an error before
	// it does the work.
	//
	// The defaults are far above the needs of usual Stages. They allow:
	//
	//   - in CEL: a loop over 30,000 elements, a comparison of values with 100,000 parts, or a
	//     search in 300 KB for a regular expression of 20 states. Each character, class and
	//     operator is a state, multiplied by the repeats around it.
	//   - in jq: such a search in 400 KB. However, match with the flag g, scan, splits, sub and
	//     gsub are limited to 1,200 bytes, because each of their searches may read the whole rest
	//     of the text.
	//   - in a template: 100,000 loop iterations or 10,000 template calls.
	JQSteps        int
	ExpressionSize int
	CELCost        uint64
	TemplateSteps  int
	TemplateSize   int
	// Allow lists what Stages may do in addition to changing the objects that they are played on.
	// Nil allows everything, which suits your own Stages.
	Allow *Allow
}

// Compile checks the Stages of all sources and prepares them. If it finds a fault, it returns no
// Set, and [Errors] with every fault of every source. Each fault names its source and Stage, so
// that a caller can leave the Stage out and compile the rest. A path given to [Load] without Stages
// is a fault. Sources without any Stage are a warning. For each source Compile keeps at most 100
// errors and 100 warnings, and one more fault that counts the others.
func Compile(o Options, sources ...Source) (*Set, error) {
	c := newCompiler(o)
	for _, s := range sources {
		c.source(s)
	}
	c.anyStages(sources)
	if faults := c.fatal(); len(faults) > 0 {
		return nil, faults
	}
	c.set.group()
	c.set.warnings = c.faults
	return c.set, nil
}

type compiler struct {
	options     Options
	expressions *expression.Compiler
	templates   render.Options
	set         *Set
	faults      Errors

	names map[stageName]*position.Document // of the Stages so far

	// The present source and definition.
	read       []*Error // faults that were found when the source was read
	definition definition
}

// stageName identifies a Stage within a Set.
type stageName struct {
	kind schema.GroupVersionKind
	name string
}

func newCompiler(o Options) *compiler {
	env := o.Env
	if env == nil {
		env = render.NewNetwork(render.NetworkOptions{})
	}
	return &compiler{
		options: o,
		expressions: expression.NewCompiler(expression.Options{
			JQSteps: o.JQSteps, ExpressionSize: o.ExpressionSize, CELCost: o.CELCost, JQFunctions: o.JQFunctions, CELOptions: o.CELOptions,
		}),
		templates: render.Options{
			Funcs: o.Funcs, MissingKeyError: o.MissingKeyError, Version: o.Version, StartTime: o.StartTime,
			Steps: o.TemplateSteps, Output: o.TemplateSize,
		},
		set:   newSet(env),
		names: map[stageName]*position.Document{},
	}
}

// source compiles the Stages of one source. Its faults come in the order of the text.
func (c *compiler) source(s Source) {
	first := len(c.faults)
	c.faults = append(append(c.faults, s.faults...), s.empty...)
	c.read = s.faults
	for _, d := range s.definitions {
		c.definition = d
		c.stage(&d.stage)
	}
	slices.SortStableFunc(c.faults[first:], func(a, b *Error) int {
		p, q := a.Position, b.Position
		return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
	})
	c.faults = slices.Concat(c.faults[:first], capped(c.faults[first:]), s.more)
}

// anyStages warns of a Set without Stages, unless another fault already says why.
func (c *compiler) anyStages(sources []Source) {
	some := func(s Source) bool { return len(s.definitions) > 0 }
	if len(c.faults) == 0 && !slices.ContainsFunc(sources, some) {
		c.faults = append(c.faults, &Error{Warning: true, Err: errors.New("there are no Stages: nothing is played")})
	}
}

// fatal returns all faults if one of them is an error, and marks the warnings among them.
func (c *compiler) fatal() Errors {
	errs := 0
	for i, f := range c.faults {
		if f.lenient && c.options.Lenient {
			warning := *f
			warning.Warning = true
			c.faults[i] = &warning
		}
		if !c.faults[i].Warning {
			errs++
		}
	}
	if errs == 0 {
		return nil
	}
	return c.faults
}

// fault records the faults that err joins, at or below path.
func (c *compiler) fault(path string, err error) {
	for _, e := range position.Below(path, err) {
		c.add(e)
	}
}

func (c *compiler) faultf(path, format string, args ...any) {
	c.add(&position.Error{Path: path, Offset: -1, Err: fmt.Errorf(format, args...)})
}

func (c *compiler) warn(path, text string) {
	c.add(&position.Error{Path: path, Offset: -1, Err: errors.New(text)}).Warning = true
}

// add records a fault, unless reading the text already found a fault in the field or in a field
// around it. A value of the wrong type is not also reported as missing.
func (c *compiler) add(e *position.Error) *Error {
	fault := locate(c.definition.doc, c.definition.stage.Name, e)
	known := slices.ContainsFunc(c.read, func(f *Error) bool {
		return !f.lenient && f.Stage == fault.Stage && f.Position.Line == fault.Position.Line && strings.HasPrefix(fault.Path, f.Path)
	})
	if !known {
		c.faults = append(c.faults, fault)
	}
	return fault
}

// stage compiles one Stage and puts it into the set.
func (c *compiler) stage(s *v1alpha1.Stage) {
	before := len(c.faults)
	st := &compiled{name: s.Name, doc: c.definition.doc, spec: &s.Spec, kind: c.resource(s.Spec.ResourceRef), salt: random.New(0).Text(s.Name).Sum()}
	st.immediate = s.Spec.ImmediateNextStage != nil && *s.Spec.ImmediateNextStage
	c.name(s, st.kind)
	c.allowed(st.kind)
	st.selector = c.selector(&s.Spec)
	st.weight = c.weight(&s.Spec)
	st.delay = c.delay(&s.Spec)
	st.steps = c.steps(st.kind, &s.Spec)
	c.extensions(s, st)
	if st.selector != nil && !st.selector.MatchesNothing() && !slices.ContainsFunc(c.faults[before:], func(e *Error) bool { return !e.Warning && !e.lenient }) {
		c.set.add(st)
	}
}

func (c *compiler) resource(ref v1alpha1.StageResourceRef) schema.GroupVersionKind {
	if ref.Kind == "" {
		c.faultf("spec.resourceRef.kind", "missing")
	}
	gv, err := schema.ParseGroupVersion(cmp.Or(ref.APIGroup, "v1"))
	switch {
	case err != nil:
		c.fault("spec.resourceRef.apiGroup", err)
	case gv.Group == "" && !isVersion.MatchString(gv.Version):
		c.warn("spec.resourceRef.apiGroup", fmt.Sprintf("%q is read as a version of the core group; want a group and version, such as %s/v1", gv.Version, gv.Version))
	}
	return gv.WithKind(ref.Kind)
}

// isVersion matches the versions that Kubernetes accepts.
var isVersion = regexp.MustCompile(`^v\d+((alpha|beta)\d+)?$`)

// name checks that the Stage has a name, and that no other Stage of the kind has the same name.
func (c *compiler) name(s *v1alpha1.Stage, kind schema.GroupVersionKind) {
	if s.Name == "" {
		c.faultf("metadata.name", "missing")
		return
	}
	id, at := stageName{kind, s.Name}, &position.Error{Path: "metadata.name", Offset: -1, Warning: true}
	if other, taken := c.names[id]; taken {
		at.Err = fmt.Errorf("another stage for %s has this name%s", kind.Kind, place(locate(other, s.Name, at).Position))
		c.add(at)
		return
	}
	c.names[id] = c.definition.doc
}

func place(p Position) string {
	if p == (Position{}) {
		return ""
	}
	return ", at " + p.String()
}

func (c *compiler) selector(s *v1alpha1.StageSpec) *parts.Selector {
	compiled, err := parts.CompileSelector(s.Selector, c.expressions)
	c.fault("spec.selector", err)
	if compiled != nil && compiled.MatchesNothing() {
		c.warn("spec.selector", "missing, so the stage matches no object; {} matches all")
	}
	return compiled
}

func (c *compiler) delay(s *v1alpha1.StageSpec) *parts.Delay {
	compiled, err := parts.CompileDelay(s.Delay, c.expressions)
	c.fault("spec.delay", err)
	return compiled
}

func (c *compiler) weight(s *v1alpha1.StageSpec) parts.Weight {
	compiled, err := parts.CompileWeight(s, c.expressions)
	c.fault("spec", err)
	return compiled
}

// MustCompile is [Compile] with the zero Options for Stages that are part of the program. It panics
// on a fault.
func MustCompile(sources ...Source) *Set {
	set, err := Compile(Options{}, sources...)
	if err != nil {
		panic(err)
	}
	return set
}
