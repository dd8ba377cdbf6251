package kwok

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	corev1 "k8s.io/api/core/v1"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
	"github.com/stagecraft-go/stagecraft/stage/lab/containers/internal/amount"
)

// metricLibrary has what only expressions of metrics can use: the variable node, and what is measured.
func metricLibrary() []cel.EnvOption {
	method := func(name string, arguments int, do func(args ...ref.Val) ref.Val) cel.EnvOption {
		of := []*cel.Type{cel.DynType, cel.StringType, cel.StringType}[:arguments+1]
		return cel.Function(name, cel.MemberOverload(name+[]string{"", "_whole", "_container"}[arguments], of, cel.DoubleType, cel.FunctionBinding(do)))
	}
	return []cel.EnvOption{
		cel.Variable("node", cel.DynType),
		method("Usage", 1, usageOf), method("Usage", 2, usageOf),
		method("CumulativeUsage", 1, cumulativeUsageOf), method("CumulativeUsage", 2, cumulativeUsageOf),
		cel.Function(startedName, cel.Overload("started", []*cel.Type{cel.DynType, cel.DynType}, cel.DoubleType, cel.BinaryBinding(startedContainers))),
		cel.Macros(
			cel.GlobalMacro("StartedContainersTotal", 1, asFunction), cel.ReceiverMacro("StartedContainersTotal", 0, asMethod),
			cel.GlobalMacro("startedContainersTotal", 1, asFunction), cel.ReceiverMacro("startedContainersTotal", 0, asMethod)),
	}
}

const startedName = "@started"

func asFunction(e cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	return e.NewCall(startedName, e.NewIdent(thisName), args[0]), nil
}

func asMethod(e cel.MacroExprFactory, target ast.Expr, _ []ast.Expr) (ast.Expr, *cel.Error) {
	return e.NewCall(startedName, e.NewIdent(thisName), target), nil
}

// orError returns an error, or a value without one.
func orError(v, err ref.Val) ref.Val {
	if err != nil {
		return err
	}
	return v
}

// usageOf returns the cores or bytes that a Node, a Pod or a container uses.
func usageOf(args ...ref.Val) ref.Val {
	u, err := measuredOf(args)
	switch args[1] {
	case types.String("cpu"):
		return orError(types.Double(amount.Float(u.CPU)), err)
	case types.String("memory"):
		return orError(types.Double(amount.Float(u.Memory)), err)
	}
	return types.NewErr("Usage of %q is not supported: want cpu or memory", args[1].Value())
}

// cumulativeUsageOf returns the core-seconds that a Node, a Pod or a container has used.
func cumulativeUsageOf(args ...ref.Val) ref.Val {
	u, err := measuredOf(args)
	if args[1] != types.String("cpu") {
		return types.NewErr("CumulativeUsage of %q is not supported: want cpu", args[1].Value())
	}
	return orError(types.Double(u.CPUSeconds), err)
}

// measuredOf returns what the object of a method uses: nothing for a container that does not run.
func measuredOf(args []ref.Val) (u containers.Usage, err ref.Val) {
	o, is := args[0].(*part)
	if !is || o.of == nil {
		return u, types.MaybeNoSuchOverloadErr(args[0])
	}
	switch o.fields.Interface().(type) {
	case corev1.Node:
		if len(args) == 2 {
			return o.of.node.Usage, nil
		}
	case corev1.Pod:
		if o.of.pod.Err != nil {
			return u, types.WrapErr(o.of.pod.Err)
		}
		if len(args) == 2 {
			return o.of.pod.Usage, nil
		}
		for _, c := range o.of.pod.Containers {
			if args[2] == types.String(c.Name) {
				return c.Usage, nil
			}
		}
		return u, nil
	}
	return u, types.MaybeNoSuchOverloadErr(args[0])
}

// startedContainers returns how many containers a Node has started, given the Node or its name.
func startedContainers(this, node ref.Val) ref.Val {
	e, _ := this.Value().(*evaluation)
	name := node
	if o, is := node.(*part); is {
		if of, is := o.fields.Interface().(corev1.Node); is {
			name = types.String(of.Name)
		}
	}
	if name != types.String(e.node.Node.GetName()) {
		return types.NewErr("StartedContainersTotal: want the Node of the metric, or its name")
	}
	return types.Double(e.node.Started)
}
