package expression

import (
	"slices"

	googlecel "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/parser"
)

const (
	nowVariable  = "@now"
	randVariable = "@rand"
)

// library is what CEL in Stages has beyond the standard library.
func library() []googlecel.EnvOption {
	options := []googlecel.EnvOption{
		googlecel.OptionalTypes(),
		ext.Strings(), ext.Math(), ext.Sets(), ext.Encoders(), ext.TwoVarComprehensions(), ext.Lists(),
		googlecel.Variable(nowVariable, googlecel.TimestampType),
		googlecel.Variable(randVariable, googlecel.DoubleType),
		googlecel.Macros(macros...),
	}
	return slices.Concat(options, functions, quantityFunctions)
}

// macros give functions what their callers do not write: the time, the seed.
var macros = []googlecel.Macro{
	parser.NewGlobalMacro("Now", 0, variableMacro(nowVariable)),
	parser.NewGlobalMacro("Rand", 0, variableMacro(randVariable)),
	parser.NewGlobalMacro("SinceSecond", 1, sinceMacro),
	parser.NewReceiverMacro("SinceSecond", 0, sinceMacro),
}

func variableMacro(name string) parser.MacroExpander {
	return func(h parser.ExprHelper, _ ast.Expr, _ []ast.Expr) (ast.Expr, *common.Error) {
		return h.NewIdent(name), nil
	}
}

// sinceMacro expands SinceSecond(x) and x.SinceSecond().
func sinceMacro(h parser.ExprHelper, target ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
	if target == nil {
		target = args[0]
	}
	return h.NewCall("@since", target, h.NewIdent(nowVariable)), nil
}
