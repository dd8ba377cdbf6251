package kwok

import (
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	corev1 "k8s.io/api/core/v1"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
)

// A program is a compiled expression.
type program struct {
	cel.Program
	text string
	want wanted
}

// maxCost is the cost of an expression, in the units of CEL: about as many steps.
const maxCost = 100_000

// An evaluation is what an expression is evaluated for. What it does not have is nil.
type evaluation struct {
	now       time.Time
	node      *containers.NodeUsage
	pod       *containers.PodUsage
	container string

	given map[string]any // the variables
	text  string         // of the expression
	draws uint64         // random numbers so far
}

// roots are the types of the variables.
var roots = map[string]reflect.Type{
	"node": reflect.TypeFor[corev1.Node](), "pod": reflect.TypeFor[corev1.Pod](), "container": reflect.TypeFor[corev1.Container](),
}

const (
	thisName = "@this" // the evaluation, which a client cannot name
	drawName = "@draw"
)

// environments returns what expressions of usages and of metrics can use.
var environments = sync.OnceValues(func() (e struct{ usage, metric *cel.Env }, err error) {
	if e.usage, err = cel.NewEnv(commonLibrary()...); err == nil {
		e.metric, err = e.usage.Extend(metricLibrary()...)
	}
	return e, err
})

// commonLibrary has the variables pod, container and now, and the functions of kwok.
func commonLibrary() []cel.EnvOption {
	ident := func(name string) cel.MacroFactory {
		return func(e cel.MacroExprFactory, _ ast.Expr, _ []ast.Expr) (ast.Expr, *cel.Error) {
			return e.NewIdent(name), nil
		}
	}
	rand := func(e cel.MacroExprFactory, _ ast.Expr, _ []ast.Expr) (ast.Expr, *cel.Error) {
		return e.NewCall(drawName, e.NewIdent(thisName)), nil
	}
	return []cel.EnvOption{
		cel.Variable("pod", cel.DynType), cel.Variable("container", cel.DynType), cel.Variable("now", cel.TimestampType), cel.Variable(thisName, cel.DynType),
		cel.Macros(cel.GlobalMacro("Now", 0, ident("now")), cel.GlobalMacro("now", 0, ident("now")), cel.GlobalMacro("Rand", 0, rand)),
		cel.Function(drawName, cel.Overload("draw", []*cel.Type{cel.DynType}, cel.DoubleType, cel.UnaryBinding(draw))),
		both("Quantity", cel.DynType, parseQuantity),
		both("UnixSecond", cel.DoubleType, unixSecond),
		both("SinceSecond", cel.DoubleType, sinceSecond),
	}
}

// both declares a function of one argument that is also a method.
func both(name string, result *cel.Type, do func(ref.Val) ref.Val) cel.EnvOption {
	return cel.Function(name, cel.Overload(name+"_function", []*cel.Type{cel.DynType}, result, cel.UnaryBinding(do)),
		cel.MemberOverload(name+"_method", []*cel.Type{cel.DynType}, result, cel.UnaryBinding(do)))
}

// unixSecond returns the seconds since 1970.
func unixSecond(v ref.Val) ref.Val {
	at, is := v.(types.Timestamp)
	if !is {
		return types.MaybeNoSuchOverloadErr(v)
	}
	return types.Double(float64(at.UnixNano()) / 1e9)
}

// sinceSecond returns the age of a Node or a Pod in seconds.
func sinceSecond(v ref.Val) ref.Val {
	o, is := v.(*part)
	if !is || o.of == nil {
		return types.MaybeNoSuchOverloadErr(v)
	}
	switch obj := o.fields.Interface().(type) {
	case corev1.Node:
		return types.Double(o.of.now.Sub(obj.CreationTimestamp.Time).Seconds())
	case corev1.Pod:
		return types.Double(o.of.now.Sub(obj.CreationTimestamp.Time).Seconds())
	}
	return types.MaybeNoSuchOverloadErr(v)
}

// draw returns a number from 0 up to 1. The same expression for the same object at the same time draws
// the same numbers.
func draw(v ref.Val) ref.Val {
	e, is := v.Value().(*evaluation)
	if !is {
		return types.MaybeNoSuchOverloadErr(v)
	}
	e.draws++
	hash := fnv.New64a()
	if e.pod != nil {
		fmt.Fprint(hash, e.pod.Pod.GetUID(), e.pod.Pod.GetNamespace(), "/", e.pod.Pod.GetName())
	}
	if e.node != nil {
		fmt.Fprint(hash, e.node.Node.GetUID(), e.node.Node.GetName())
	}
	fmt.Fprintln(hash, e.container, e.now.UnixNano(), e.text, e.draws)
	return types.Double(float64(mix(hash.Sum64())>>11) / (1 << 53))
}

// mix spreads the bits of a hash, as splitmix64 does.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// compile compiles an expression of a metric of a dimension; "" is for a usage. It evaluates an
// expression without variables, so that errors are told at once.
func compile(expression, dimension string, want wanted) (*program, error) {
	all, err := environments()
	if err != nil {
		return nil, err
	}
	env := all.usage
	if dimension != "" {
		env = all.metric
	}
	compiled, issues := env.Compile(expression)
	if issues != nil && issues.Err() != nil {
		return nil, issues.Err()
	}
	if err := check(compiled.NativeRep().Expr(), dimension); err != nil {
		return nil, err
	}
	if err := want.refuses(compiled.OutputType()); err != nil {
		return nil, err
	}
	executable, err := env.Program(compiled, cel.CostLimit(maxCost))
	if err != nil {
		return nil, err
	}
	p := &program{executable, expression, want}
	if isConstant(compiled.NativeRep().Expr()) {
		err = p.try()
	}
	return p, err
}

// try evaluates an expression without variables.
func (p *program) try() (err error) {
	e := &evaluation{given: map[string]any{}}
	if slices.Contains(p.want.kinds, types.StringKind) {
		_, err = p.string(e)
	} else {
		_, err = p.float(e)
	}
	return err
}

// eval evaluates an expression.
func (p *program) eval(e *evaluation) (ref.Val, error) {
	e.text, e.draws = p.text, 0
	out, _, err := p.Eval(e.given)
	return out, err
}

// with sets the variables of an evaluation.
func (e *evaluation) with(given map[string]any) *evaluation {
	for name, value := range given {
		given[name] = &part{reflect.ValueOf(value), e}
	}
	given["now"], given[thisName] = e.now, this{e}
	e.given = given
	return e
}

// float evaluates an expression to a number that its user accepts.
func (p *program) float(e *evaluation) (float64, error) {
	out, err := p.eval(e)
	if err != nil {
		return 0, err
	}
	if kind, is := out.Type().(*cel.Type); is && out.Type() != amountType {
		if err := p.want.refuses(kind); err != nil {
			return 0, err
		}
	}
	n, err := floatOf(out)
	if err == nil {
		err = p.want.accept(n)
	}
	return n, err
}

func floatOf(out ref.Val) (float64, error) {
	switch v := out.(type) {
	case types.Duration:
		return float64(v.Duration), nil
	case types.Int:
		return float64(v), nil
	case types.Uint:
		return float64(v), nil
	case types.Double:
		return float64(v), nil
	case quantity:
		return float64(v), nil
	case types.Bool:
		if v {
			return 1, nil
		}
		return 0, nil
	}
	return 0, fmt.Errorf("want a number, got a value of type %s", out.Type().TypeName())
}

// string evaluates an expression to a text.
func (p *program) string(e *evaluation) (string, error) {
	out, err := p.eval(e)
	if err != nil {
		return "", err
	}
	text, is := out.(types.String)
	if !is {
		return "", fmt.Errorf("want a string, got a value of type %s", out.Type().TypeName())
	}
	return string(text), nil
}

// this is an evaluation as a value. Only [draw] reads it.
type this struct{ *evaluation }

// ConvertToNative implements [ref.Val].
func (this) ConvertToNative(reflect.Type) (any, error) { return nil, errors.ErrUnsupported }

// ConvertToType implements [ref.Val].
func (this) ConvertToType(ref.Type) ref.Val { return types.NewErr("not supported") }

// Equal implements [ref.Val].
func (this) Equal(ref.Val) ref.Val { return types.False }

// Type implements [ref.Val].
func (this) Type() ref.Type { return partType }

// Value implements [ref.Val].
func (t this) Value() any { return t.evaluation }
