package eval

import (
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/parser"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// cellFunctions are num(column), a double, and cell(collector, column), of any type. Macros hand them the CombinedStatus.
var cellFunctions = []cel.EnvOption{
	cel.CrossTypeNumericComparisons(true),
	cel.Macros(
		parser.NewGlobalMacro("num", 1, inObj("@num")),
		parser.NewGlobalMacro("cell", 2, inObj("@cell"))),
	cel.Function("@num", cel.Overload("@num_string", []*cel.Type{cel.DynType, cel.StringType}, cel.DoubleType, cel.BinaryBinding(num))),
	cel.Function("@cell", cel.Overload("@cell_string_string", []*cel.Type{cel.DynType, cel.StringType, cel.StringType}, cel.DynType,
		cel.FunctionBinding(func(args ...ref.Val) ref.Val { return lookup(args[0], args[1], args[2]) }))),
}

func inObj(function string) parser.MacroExpander {
	return func(h parser.ExprHelper, _ ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
		return h.NewCall(function, append([]ast.Expr{h.NewIdent("obj")}, args...)...), nil
	}
}

func num(obj, column ref.Val) ref.Val {
	v := lookup(obj, nil, column)
	if _, ok := v.(types.Double); !ok && !types.IsError(v) {
		return types.NewErr("column %s is no number", column.Value())
	}
	return v
}

// lookup finds the cell of a column in the table of a collector, or in the only table that has it. The table must have one row.
func lookup(obj, collector, column ref.Val) ref.Val {
	name, ok := column.(types.String)
	status, isMap := obj.Value().(map[string]any)
	if !ok || !isMap {
		return types.MaybeNoSuchOverloadErr(column)
	}
	var table map[string]any
	at, found := 0, 0
	results, _ := object.Slice(status, "results")
	for _, item := range results {
		result, _ := object.ToMap(item)
		if collector != nil && collector.Value() != result["name"] {
			continue
		}
		if i := columnIndex(result, string(name)); i >= 0 {
			table, at = result, i
			found++
		}
	}
	switch {
	case found == 0:
		return absent(results, collector, string(name))
	case found > 1:
		return types.NewErr("%d collectors have a column %s: name one with cell", found, string(name))
	}
	return single(table, at, string(name))
}

// absent says which columns there are instead.
func absent(results []any, collector ref.Val, name string) ref.Val {
	var columns []string
	for _, item := range results {
		result, _ := object.ToMap(item)
		if collector == nil || collector.Value() == result["name"] {
			names, _ := object.Strings(result, "columnNames")
			columns = append(columns, names...)
		}
	}
	only := ""
	if len(columns) > 0 {
		only = ", only " + strings.Join(columns, ", ")
	}
	if collector == nil {
		return types.NewErr("no collector has a column %s%s", name, only)
	}
	return types.NewErr("collector %v has no column %s%s", collector.Value(), name, only)
}

func columnIndex(result map[string]any, name string) int {
	columns, _ := object.Strings(result, "columnNames")
	for i, c := range columns {
		if c == name {
			return i
		}
	}
	return -1
}

func single(table map[string]any, column int, name string) ref.Val {
	rows, _ := object.Slice(table, "rows")
	if len(rows) != 1 {
		return types.NewErr("column %s has %d rows, not one", name, len(rows))
	}
	row, _ := object.ToMap(rows[0])
	cells, _ := object.Slice(row, "columns")
	if column >= len(cells) {
		return types.NewErr("column %s has no cell", name)
	}
	value, _ := object.ToMap(cells[column])
	return payload(value)
}

// payload is the value of a cell.
func payload(value map[string]any) ref.Val {
	kind, _ := value["type"].(string)
	switch kind {
	case "Number":
		text, _ := value["float"].(string)
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return types.WrapErr(err)
		}
		return types.Double(f)
	case "String", "Bool", "Object", "Array":
		return values.NativeToValue(value[payloads[kind]])
	case "Null":
		return types.NullValue
	}
	return types.NewErr("a cell of type %q", kind)
}

var payloads = map[string]string{"String": "string", "Bool": "bool", "Object": "object", "Array": "array"}
