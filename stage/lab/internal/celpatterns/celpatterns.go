// Package celpatterns finds the regular expressions of CEL expressions. The cost limits of
// Kubernetes count a pattern by its length, and (a{0,30}){0,30} is short: it has 900 states, and a
// match takes one step for each state and each byte.
//
// # Concurrency
//
// Its functions may be called from several goroutines at once.
package celpatterns

import (
	"regexp/syntax"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apiserver/pkg/cel/environment"
)

// functions take a pattern: matches(text, pattern), find(text, pattern, limit).
var functions = map[string]bool{"matches": true, "find": true, "findAll": true}

var parser = sync.OnceValue(func() *cel.Env {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv()
})

// Of returns the largest number of states of the patterns in an expression, 0 without a pattern, and
// whether the expression has patterns that only its evaluation makes. An expression that cannot be
// parsed has none.
func Of(expression string) (most int, computed bool) {
	if expression == "" {
		return 0, false
	}
	parsed, issues := parser().Parse(expression)
	if issues.Err() != nil {
		return 0, false
	}
	ast.PreOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || !functions[e.AsCall().FunctionName()] {
			return
		}
		for i, arg := range e.AsCall().Args() {
			text, isText := "", arg.Kind() == ast.LiteralKind
			if isText {
				text, isText = arg.AsLiteral().Value().(string)
			}
			switch {
			case isText:
				most = max(most, States(text))
			case arg.Kind() != ast.LiteralKind && i == patternOf(e):
				computed = true
			}
		}
	}))
	return most, computed
}

// patternOf returns which argument of a call is the pattern: self.matches(p) or matches(self, p).
func patternOf(e ast.Expr) int {
	if e.AsCall().IsMemberFunction() {
		return 0
	}
	return 1
}

// bounded is the name of a function that returns its argument, a pattern.
const bounded = "@pattern"

// Bounded returns options of an environment in which a pattern that an evaluation makes is an error if
// it has more states than most.
func Bounded(most int) []cel.EnvOption {
	check := func(v ref.Val) ref.Val {
		if text, isText := v.Value().(string); isText && States(text) > most {
			return types.NewErr("a pattern has %d states: the limit is %d; use smaller repetitions", States(text), most)
		}
		return v
	}
	return []cel.EnvOption{
		cel.Function(bounded, cel.Overload(bounded+"_string", []*cel.Type{cel.StringType}, cel.StringType, cel.UnaryBinding(check))),
		cel.Macros(
			cel.ReceiverMacro("matches", 1, boundMember("matches")), cel.GlobalMacro("matches", 2, boundGlobal),
			cel.ReceiverMacro("find", 1, boundMember("find")),
			cel.ReceiverMacro("findAll", 1, boundMember("findAll")), cel.ReceiverMacro("findAll", 2, boundMember("findAll")),
		),
	}
}

// boundMember returns what makes text.function(pattern, …) text.function(bounded(pattern), …). Literals
// are checked when their expression is stored.
func boundMember(function string) cel.MacroFactory {
	return func(f cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
		if args[0].Kind() == ast.LiteralKind {
			return nil, nil
		}
		return f.NewMemberCall(function, target, append([]ast.Expr{f.NewCall(bounded, args[0])}, args[1:]...)...), nil
	}
}

// boundGlobal is boundMember for matches(text, pattern).
func boundGlobal(f cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
	if args[1].Kind() == ast.LiteralKind {
		return nil, nil
	}
	return f.NewCall("matches", args[0], f.NewCall(bounded, args[1])), nil
}

// States returns the approximate number of states of a pattern; 1 for an invalid one.
func States(pattern string) int {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 1
	}
	return states(re)
}

func states(re *syntax.Regexp) int {
	n := 1
	switch re.Op {
	case syntax.OpLiteral:
		return 1 + len(re.Rune)
	case syntax.OpCapture, syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		n = 2
	}
	for _, sub := range re.Sub {
		n += states(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= 1 + max(re.Min, re.Max)
	}
	return n
}
