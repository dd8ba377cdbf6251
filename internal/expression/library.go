package expr

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/parser"
)

const (
	nowVariable  = "@now"
	randVariable = "@rand"
)

func newEnvironment(o Options) (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.CustomTypeAdapter(adapter{types.DefaultTypeAdapter}),
		cel.DefaultUTCTimeZone(true),
		cel.OptionalTypes(),
		ext.Strings(), ext.Math(), ext.Sets(), ext.Encoders(), ext.TwoVarComprehensions(),
		ext.Lists(ext.ListsMaxRangeSize(int64(o.Size / cell))),
		cel.Variable(nowVariable, cel.TimestampType),
		cel.Variable(randVariable, cel.DoubleType),
		cel.Macros(macros...),
	}
	for _, name := range o.Variables {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	options = append(options, functions(o.Size)...)
	return cel.NewEnv(append(options, quantityFunctions...)...)
}

// macros give functions what their callers do not write: the time, the seed. They also lead to our own versions of the
// library functions that could build more than Options.Size.
var macros = []cel.Macro{
	parser.NewGlobalMacro("Now", 0, variableMacro(nowVariable)),
	parser.NewGlobalMacro("Rand", 0, variableMacro(randVariable)),
	parser.NewGlobalMacro("SinceSecond", 1, sinceMacro),
	parser.NewReceiverMacro("SinceSecond", 0, sinceMacro),
	parser.NewReceiverMacro("replace", 2, callMacro("@replace")),
	parser.NewReceiverMacro("replace", 3, callMacro("@replace")),
	parser.NewReceiverMacro("join", 0, callMacro("@join")),
	parser.NewReceiverMacro("join", 1, callMacro("@join")),
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

func callMacro(function string) parser.MacroExpander {
	return func(h parser.ExprHelper, target ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
		return h.NewCall(function, append([]ast.Expr{target}, args...)...), nil
	}
}

// sortRanges puts @sorted around what comprehensions iterate over: Go has no order of the keys of a map.
func sortRanges(tree *ast.AST) {
	factory := ast.NewExprFactory()
	next := ast.MaxID(tree)
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.ComprehensionKind {
			return
		}
		c := e.AsComprehension()
		id := next
		next++
		if place, ok := tree.SourceInfo().GetOffsetRange(c.IterRange().ID()); ok {
			tree.SourceInfo().SetOffsetRange(id, place)
		}
		sorted := factory.NewCall(id, "@sorted", factory.CopyExpr(c.IterRange()))
		e.SetKindCase(factory.NewComprehensionTwoVar(e.ID(), sorted, c.IterVar(), c.IterVar2(), c.AccuVar(),
			c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()))
	}))
}
