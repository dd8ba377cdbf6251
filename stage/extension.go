package stage

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/delay"
	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/internal/parts"
	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// Extensions are annotations of a Stage with YAML values. They are not fields, because an API
// server drops unknown fields of a Stage, but keeps its annotations. Kwok ignores the annotations.
// EXTENSIONS.md describes them.
//
// [delay.ExtensionAnnotation] changes the delay.
const (
	// PatchesExtension changes single numbers and conditions.
	PatchesExtension = extensionPrefix + "patches"

	// extensionPrefix is below a domain of this project, so no other project uses it.
	extensionPrefix = "stagecraft-go.github.io/"
)

var errExtension = errors.New("an extension, which kwok does not have; to play it, set Extensions in the Options of stage.Compile")

// extensions compiles the extensions of a Stage.
func (c *compiler) extensions(s *v1alpha1.Stage, st *compiled) {
	for _, name := range slices.Sorted(maps.Keys(s.Annotations)) {
		if !strings.HasPrefix(name, extensionPrefix) {
			continue
		}
		path, text := position.Field("metadata.annotations", name), s.Annotations[name]
		st.given = append(st.given, name, text)
		switch {
		case name != delay.ExtensionAnnotation && name != PatchesExtension:
			c.faultf(path, "unknown extension; want %s or %s", delay.ExtensionAnnotation, PatchesExtension)
		case !c.options.Extensions:
			c.fault(path, errExtension)
		case name == delay.ExtensionAnnotation:
			st.extension = c.delayExtension(path, text)
		default:
			c.patchesExtension(path, text, st)
		}
	}
}

func (c *compiler) delayExtension(path, text string) *delay.Extension {
	x, err := delay.ParseExtension(text)
	for _, e := range flat(err) {
		if fault, ok := e.(*delay.Error); ok {
			c.faultInText(path, (*position.Error)(fault))
		}
	}
	if d := parts.DescribeDelay(c.definition.stage.Spec.Delay); x != nil && x.AddsJitter() && !d.HasJitter {
		c.warn(path, "addJitter: spec.delay has no jitter to add")
	}
	return x
}

// faultInText records a fault within the YAML text of a field.
func (c *compiler) faultInText(path string, e *position.Error) {
	err := e.Err
	if e.Path != "" {
		err = fmt.Errorf("%s: %w", e.Path, e.Err)
	}
	c.add(&position.Error{Path: path, Offset: e.Offset, Warning: e.Warning, Err: err})
}

// flat returns the errors that err joins.
func flat(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// delays returns the possible delays, including the extension.
func (st *compiled) delays(scope *expression.Scope, d draws) delay.Range {
	scope.Seed = d.eval(st.salt)
	if st.extension != nil {
		return st.extension.Extend(st.explainedDelay(scope)).Range
	}
	r := st.delay.Range(scope)
	return delay.Range{Given: r.Given, Min: r.Min, Max: r.Max}
}

// explainedDelay is the delay without the extension, with paths relative to spec.delay.
func (st *compiled) explainedDelay(scope *expression.Scope) delay.Explanation {
	e := st.delay.Explain(scope)
	x := delay.Explanation{Range: delay.Range{Given: e.Given, Min: e.Min, Max: e.Max}, Base: e.Base, Jitter: e.Jitter}
	for _, p := range e.Parts {
		x.Parts = append(x.Parts, delay.Evaluation(p))
	}
	return x
}
