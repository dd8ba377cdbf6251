package eval

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/parser"

	eval "github.com/stagecraft-go/stagecraft/internal/cel"
	"github.com/stagecraft-go/stagecraft/internal/object"
)

// cellFunctions are num(column), a double, and cell(collector, column), of any type. Macros hand
// them the CombinedStatus.
var cellFunctions = []cel.EnvOption{
	cel.CrossTypeNumericComparisons(true),
	cel.Macros(
		parser.NewGlobalMacro("num", 1, inObj("@num")),
		parser.NewGlobalMacro("cell", 2, inObj("@cell"))),
	cel.Function("@num", cel.Overload("@num_string", []*cel.Type{cel.DynType, cel.StringType}, cel.DoubleType,
		cel.BinaryBinding(func(obj, column ref.Val) ref.Val { return asCEL(num(obj.Value(), column.Value())) }))),
	cel.Function("@cell", cel.Overload("@cell_string_string", []*cel.Type{cel.DynType, cel.StringType, cel.StringType}, cel.DynType,
		cel.FunctionBinding(func(args ...ref.Val) ref.Val {
			return asCEL(lookup(args[0].Value(), args[1].Value(), args[2].Value()))
		}))),
}

// orderedFunction is the identity of all values but NaN, which cannot be ordered.
var orderedFunction = []cel.EnvOption{
	cel.Function("@ordered", cel.Overload("@ordered_any", []*cel.Type{cel.TypeParamType("T")}, cel.TypeParamType("T"),
		cel.UnaryBinding(func(v ref.Val) ref.Val {
			if d, ok := v.(types.Double); ok && math.IsNaN(float64(d)) {
				return types.NewErr("NaN values cannot be ordered")
			}
			return v
		}))),
}

// costs are those of num and cell, which look through the names of all columns, and name them in an
// error.
var costs = map[string]eval.Cost{"@num": columns, "@cell": columns}

func columns(args []ref.Val, left int) (steps, size int) {
	status, _ := args[0].Value().(map[string]any)
	results, _ := object.Slice(status, "results")
	for i := 0; i < len(results) && steps <= left; i++ {
		result, _ := object.ToMap(results[i])
		steps += 1 + eval.Work(result["columnNames"], left)
	}
	return 2 * steps, 0
}

func inObj(function string) parser.MacroExpander {
	return func(h parser.ExprHelper, _ ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
		return h.NewCall(function, append([]ast.Expr{h.NewIdent("obj")}, args...)...), nil
	}
}

// asCEL gives a result to cel-go.
func asCEL(v any, err error) ref.Val {
	if err != nil {
		return types.WrapErr(err)
	}
	return types.DefaultTypeAdapter.NativeToValue(v)
}

func num(obj, column any) (any, error) {
	v, err := lookup(obj, nil, column)
	if _, ok := v.(float64); !ok && err == nil {
		return nil, fmt.Errorf("column %s is no number", column)
	}
	return v, err
}

// lookup finds the cell of a column in the table of a collector, or, if that is nil, in the only
// table that has it. The table must have one row.
func lookup(obj, collector, column any) (any, error) {
	name, ok := column.(string)
	status, isMap := obj.(map[string]any)
	if !ok || !isMap {
		return nil, errors.New("no such overload")
	}
	var table map[string]any
	at, found := 0, 0
	results, _ := object.Slice(status, "results")
	for _, item := range results {
		result, _ := object.ToMap(item)
		if collector != nil && collector != result["name"] {
			continue
		}
		columns, _ := object.Strings(result, "columnNames")
		if i := slices.Index(columns, name); i >= 0 {
			table, at = result, i
			found++
		}
	}
	switch {
	case found == 0:
		return nil, absent(results, collector, name)
	case found > 1:
		return nil, fmt.Errorf("%d collectors have a column %s: name one with cell", found, name)
	}
	return single(table, at, name)
}

// maxNamed is how many columns an error names.
const maxNamed = 20

// absent says which columns there are instead.
func absent(results []any, collector any, name string) error {
	var columns []string
	for _, item := range results {
		result, _ := object.ToMap(item)
		if collector == nil || collector == result["name"] {
			names, _ := object.Strings(result, "columnNames")
			columns = append(columns, names...)
		}
	}
	only := ""
	if n := len(columns) - maxNamed; n > 1 {
		columns = append(columns[:maxNamed:maxNamed], fmt.Sprintf("%d others", n))
	}
	if len(columns) > 0 {
		only = ", only " + strings.Join(columns, ", ")
	}
	if collector == nil {
		return fmt.Errorf("no collector has a column %s%s", name, only)
	}
	return fmt.Errorf("collector %v has no column %s%s", collector, name, only)
}

func single(table map[string]any, column int, name string) (any, error) {
	rows, _ := object.Slice(table, "rows")
	if len(rows) != 1 {
		return nil, fmt.Errorf("column %s has %d rows, not one", name, len(rows))
	}
	row, _ := object.ToMap(rows[0])
	cells, _ := object.Slice(row, "columns")
	if column >= len(cells) {
		return nil, fmt.Errorf("column %s has no cell", name)
	}
	value, _ := object.ToMap(cells[column])
	return payload(value)
}

// payload is the value of a cell.
func payload(value map[string]any) (any, error) {
	kind, _ := value["type"].(string)
	switch kind {
	case "Number":
		text, _ := value["float"].(string)
		return strconv.ParseFloat(text, 64)
	case "String", "Bool", "Object", "Array":
		return value[strings.ToLower(kind)], nil
	case "Null":
		return nil, nil
	}
	return nil, fmt.Errorf("a cell of type %q", kind)
}
