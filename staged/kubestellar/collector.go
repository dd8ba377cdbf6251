package kubestellar

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/cel-go/cel"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/internal/eval"
)

// A Collector is a compiled StatusCollector. It is immutable and safe for concurrent use.
type Collector struct {
	spec    control.StatusCollectorSpec
	filter  *eval.Program // nil: none
	selects []*eval.Program
	keys    []*eval.Program
	fields  []*eval.Program // nil where there is no subject
}

var variables = map[string]*cel.Type{
	"inventory":   cel.MapType(cel.StringType, cel.StringType),
	"obj":         cel.MapType(cel.StringType, cel.DynType),
	"returned":    cel.MapType(cel.StringType, cel.DynType),
	"propagation": cel.MapType(cel.StringType, cel.DynType),
}

// Compile checks a StatusCollector as KubeStellar does. The error joins one for each fault, as they would stand in status.errors.
func Compile(spec control.StatusCollectorSpec) (*Collector, error) {
	env, err := eval.NewCompiler(eval.Options{Variables: variables})
	if err != nil {
		return nil, err
	}
	c := collectorCompiler{env: env, Collector: Collector{spec: spec}}
	if spec.Filter != nil {
		c.filter = c.program("filter expression", *spec.Filter)
	}
	c.shape()
	c.selects = c.columns("select", spec.Select)
	c.keys = c.columns("groupBy", spec.GroupBy)
	for _, f := range spec.CombinedFields {
		c.fields = append(c.fields, c.field(f))
	}
	if len(c.errs) > 0 {
		return nil, errors.Join(c.errs...)
	}
	return &c.Collector, nil
}

type collectorCompiler struct {
	Collector
	env  *eval.Compiler
	errs []error
}

func (c *collectorCompiler) fault(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

// shape checks which parts stand beside one another.
func (c *collectorCompiler) shape() {
	s := c.spec
	if len(s.Select) > 0 && len(s.GroupBy)+len(s.CombinedFields) > 0 {
		c.fault("groupBy and combinedFields must be empty if select is not")
	}
	if len(s.GroupBy) > 0 && len(s.CombinedFields) == 0 {
		c.fault("groupBy must be empty if combinedFields is")
	}
}

func (c *collectorCompiler) program(what, source string) *eval.Program {
	p, err := c.env.Compile(source)
	if err != nil {
		c.fault("%s invalid: %w", what, err)
	}
	return p
}

func (c *collectorCompiler) columns(what string, columns []control.NamedExpression) (programs []*eval.Program) {
	for _, column := range columns {
		programs = append(programs, c.program(fmt.Sprintf("%s expression (%s)", what, column.Name), column.Def))
	}
	return programs
}

func (c *collectorCompiler) field(f control.NamedAggregator) *eval.Program {
	what := fmt.Sprintf("combinedField expression (%s)", f.Name)
	switch {
	case f.Type == "COUNT" && f.Subject != nil:
		c.fault("%s invalid: subject must be nil for COUNT type", what)
	case f.Type != "COUNT" && f.Subject == nil:
		c.fault("%s invalid: subject must not be nil for %s type", what, f.Type)
	case f.Subject != nil:
		return c.program(what, *f.Subject)
	}
	return nil
}

// Variables are the names of the variables that the expressions read, sorted: of inventory, obj, propagation and returned.
func (c *Collector) Variables() []string {
	names := map[string]bool{}
	for _, p := range slices.Concat([]*eval.Program{c.filter}, c.selects, c.keys, c.fields) {
		if p != nil {
			for _, name := range p.Variables() {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// columnNames are those of the table.
func (c *Collector) columnNames() []string {
	names := []string{}
	for _, column := range slices.Concat(c.spec.Select, c.spec.GroupBy) {
		names = append(names, column.Name)
	}
	for _, f := range c.spec.CombinedFields {
		names = append(names, f.Name)
	}
	return names
}
