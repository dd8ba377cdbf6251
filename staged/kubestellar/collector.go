package kubestellar

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/cel-go/cel"

	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/internal/eval"
)

// A Collector is a compiled StatusCollector. It is immutable and safe for concurrent use.
type Collector struct {
	spec    control.StatusCollectorSpec
	filter  *eval.Program   // nil: it keeps all rows
	selects []*eval.Program // of spec.select
	keys    []*eval.Program // of spec.groupBy
	fields  []*eval.Program // of spec.combinedFields; nil where there is no subject
}

var variables = map[string]*cel.Type{
	"inventory":   cel.MapType(cel.StringType, cel.StringType),
	"obj":         cel.MapType(cel.StringType, cel.DynType),
	"returned":    cel.MapType(cel.StringType, cel.DynType),
	"propagation": cel.MapType(cel.StringType, cel.DynType),
}

// Compile checks a StatusCollector as KubeStellar does, and compiles it. The error is [Errors]: the
// faults that KubeStellar writes into status.errors.
func Compile(spec control.StatusCollectorSpec) (*Collector, error) {
	env, err := eval.NewCompiler(eval.Options{Variables: variables})
	if err != nil {
		return nil, err
	}
	c := collectorCompiler{env: env, Collector: Collector{spec: spec}}
	if spec.Filter != nil {
		c.filter = c.program("spec.filter", "filter expression", *spec.Filter)
	}
	c.checkShape()
	c.selects = c.columns("select", spec.Select)
	c.keys = c.columns("groupBy", spec.GroupBy)
	for i, f := range spec.CombinedFields {
		c.fields = append(c.fields, c.field(position.Index("spec.combinedFields", i), f))
	}
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	return &c.Collector, nil
}

type collectorCompiler struct {
	Collector
	env    *eval.Compiler
	faults Errors
}

// checkShape checks which fields may be used together.
func (c *collectorCompiler) checkShape() {
	s := c.spec
	if len(s.Select) > 0 && len(s.GroupBy)+len(s.CombinedFields) > 0 {
		c.faults.add("spec.select", "groupBy and combinedFields must be empty if select is not")
	}
	if len(s.GroupBy) > 0 && len(s.CombinedFields) == 0 {
		c.faults.add("spec.groupBy", "groupBy must be empty if combinedFields is")
	}
}

func (c *collectorCompiler) program(path, what, source string) *eval.Program {
	p, err := c.env.Compile(source)
	if err != nil {
		c.faults.addExpression(path, what, source, err)
	}
	return p
}

func (c *collectorCompiler) columns(field string, columns []control.NamedExpression) (programs []*eval.Program) {
	for i, column := range columns {
		path := position.Index("spec."+field, i) + ".def"
		programs = append(programs, c.program(path, fmt.Sprintf("%s expression (%s)", field, column.Name), column.Def))
	}
	return programs
}

func (c *collectorCompiler) field(path string, f control.NamedAggregator) *eval.Program {
	what := fmt.Sprintf("combinedField expression (%s)", f.Name)
	switch path += ".subject"; {
	case f.Type == "COUNT" && f.Subject != nil:
		c.faults.add(path, "%s invalid: subject must be nil for COUNT type", what)
	case f.Type != "COUNT" && f.Subject == nil:
		c.faults.add(path, "%s invalid: subject must be set for %s type", what, f.Type)
	case f.Subject != nil:
		return c.program(path, what, *f.Subject)
	}
	return nil
}

// Variables returns the names of the variables that the expressions read, sorted: of inventory,
// obj, propagation and returned.
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

// columnNames returns the names of the columns of the table.
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
