package kwok

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
)

// A program is a compiled expression.
type program struct{ cel.Program }

// maxCost is the cost of an expression, in the units of CEL: about as many steps.
const maxCost = 100_000

// newEnv returns what expressions can use: the objects pod and container, Quantity of a text, the
// time now, and the seconds since a time.
func newEnv() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("pod", cel.DynType), cel.Variable("container", cel.DynType), cel.Variable("now", cel.TimestampType),
		cel.Function("Quantity", cel.Overload("quantity_string", []*cel.Type{cel.StringType}, cel.DoubleType, cel.UnaryBinding(quantity))),
		cel.Function("UnixSecond", cel.MemberOverload("timestamp_unix_second", []*cel.Type{cel.TimestampType}, cel.DoubleType, cel.UnaryBinding(func(v ref.Val) ref.Val {
			at, _ := v.(types.Timestamp)
			return types.Double(float64(at.UnixNano()) / 1e9)
		}))),
	)
}

func quantity(v ref.Val) ref.Val {
	text, _ := v.Value().(string)
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return types.NewErr("Quantity(%q): %v", text, err)
	}
	return types.Double(q.AsApproximateFloat64())
}

// compile compiles the expressions of an object.
func (s *usageSpec) compile(d *decoder, n *yaml.Node) {
	for i, u := range s.Usages {
		for _, name := range slices.Sorted(maps.Keys(u.Usage)) {
			v := u.Usage[name]
			path := fmt.Sprintf("spec.usages[%d].usage.%s", i, name)
			at := find(n, "spec", "usages", i, "usage", name)
			switch {
			case name != "cpu" && name != "memory":
				d.fault(at, path, "only cpu and memory are measured")
			case v.Value != nil && v.Value.Sign() < 0:
				d.fault(at, path+".value", "want a quantity of at least 0")
			case v.Value == nil && v.Expression == nil:
				d.fault(at, path, "want value or expression")
			case v.Value == nil:
				p, err := compile(*v.Expression)
				if err != nil {
					d.fault(find(at, "expression"), path+".expression", "%v", err)
				}
				v.program = p
				u.Usage[name] = v
			}
		}
	}
}

// find returns the node at a path of keys and indexes, or the last one that is there.
func find(n *yaml.Node, path ...any) *yaml.Node {
	for _, step := range path {
		next := n
		switch step := step.(type) {
		case int:
			if step < len(n.Content) {
				next = n.Content[step]
			}
		case string:
			for i := 0; i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == step {
					next = n.Content[i+1]
				}
			}
		}
		n = next
	}
	return n
}

func compile(expression string) (*program, error) {
	env, err := newEnv()
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(expression)
	if issues != nil && issues.Err() != nil {
		return nil, issues.Err()
	}
	p, err := env.Program(ast, cel.CostLimit(maxCost))
	if err != nil {
		return nil, err
	}
	return &program{p}, nil
}

// of returns what a container uses.
func (v value) of(c containers.Container, now time.Time) (q resource.Quantity, err error) {
	switch {
	case v.Value != nil:
		return *v.Value, nil
	case v.program == nil:
		return q, nil
	}
	spec := map[string]any{}
	for _, list := range []string{"containers", "initContainers"} {
		for _, item := range nested(c.Pod.Object, list) {
			if m, is := item.(map[string]any); is && m["name"] == c.Name {
				spec = m
			}
		}
	}
	pod := c.Pod
	if pod.GetAnnotations() == nil { // an expression asks what is in them, as of a Go type
		pod = pod.DeepCopy()
		pod.SetAnnotations(map[string]string{"": ""})
	}
	out, _, err := v.program.Eval(map[string]any{"pod": pod.Object, "container": spec, "now": now})
	if err != nil {
		return q, fmt.Errorf("the expression of its usage: %w", err)
	}
	native, err := out.ConvertToNative(reflect.TypeFor[float64]())
	amount, _ := native.(float64)
	if i, is := out.(types.Int); is {
		amount, err = float64(i), nil
	}
	return quantityOf(amount, err)
}

func nested(obj map[string]any, list string) []any {
	spec, _ := obj["spec"].(map[string]any)
	all, _ := spec[list].([]any)
	return all
}

func quantityOf(amount float64, err error) (q resource.Quantity, _ error) {
	switch {
	case err != nil:
		return q, fmt.Errorf("the expression of its usage: %w", err)
	case math.IsNaN(amount) || amount < 0 || amount > 1e18:
		return q, errors.New("the expression of its usage: want a number from 0 to 1e18")
	case amount < 1e6:
		return *resource.NewScaledQuantity(int64(math.Round(amount*1e6)), resource.Micro), nil
	}
	return *resource.NewQuantity(int64(amount), resource.BinarySI), nil
}
