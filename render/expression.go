package render

import (
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
)

// An expression computes a pipeline without text/template. It returns false where it is not certain that text/template would
// find the same value and no error. What is missing is nil, as functions see it.
type expression func(r *run) (any, bool)

// pipe returns nil if one of the commands is no expression.
func (o *outliner) pipe(cmds []*parse.CommandNode) expression {
	var value expression
	for _, cmd := range cmds {
		if value = o.command(cmd, value); value == nil {
			return nil
		}
	}
	return value
}

// command is given the value of the command before, nil if it is the first.
func (o *outliner) command(cmd *parse.CommandNode, final expression) expression {
	if id, ok := cmd.Args[0].(*parse.IdentifierNode); ok {
		return o.function(id.Ident, cmd.Args[1:], final)
	}
	if len(cmd.Args) > 1 || final != nil {
		return nil
	}
	return o.operand(cmd.Args[0])
}

func (o *outliner) function(name string, nodes []parse.Node, final expression) expression {
	fn, isNative := natives[name]
	isChoice := name == "or" || name == "and"
	if o.isUsers(name) || !isNative && !isChoice {
		return o.reflected(name, nodes, final)
	}
	var args []expression
	for _, n := range nodes {
		args = append(args, o.operand(n))
	}
	switch {
	case isChoice:
		return choice(name == "or", args, final)
	case name == weighFunc && final == nil && len(args) == 1 && args[0] != nil:
		return weighing(args[0])
	}
	return fn.called(args, final)
}

// weighing is the call in front of most arguments of eq and its like.
func weighing(of expression) expression {
	return func(r *run) (any, bool) {
		v, ok := of(r)
		if !ok {
			return nil, false
		}
		return r.weighed(v)
	}
}

func (r *run) weighed(v any) (any, bool) { return v, r.weigh(v, 0) == nil }

// isUsers reports whether a function of the user hides all others of the name.
func (o *outliner) isUsers(name string) bool { return o.template.options.Funcs[name] != nil }

func (o *outliner) operand(n parse.Node) expression {
	switch n := n.(type) {
	case *parse.DotNode:
		return o.dot(nil)
	case *parse.FieldNode:
		return o.dot(n.Ident)
	case *parse.VariableNode:
		return o.variable(n.Ident[0], n.Ident[1:])
	case *parse.ChainNode:
		return o.chain(n)
	case *parse.IdentifierNode:
		return o.function(n.Ident, nil, nil)
	case *parse.PipeNode:
		return o.pipe(n.Cmds)
	}
	if v, ok := literal(n); ok {
		return func(*run) (any, bool) { return v, true }
	}
	return nil
}

func literal(n parse.Node) (v any, ok bool) {
	switch n := n.(type) {
	case *parse.StringNode:
		return n.Text, true
	case *parse.BoolNode:
		return n.True, true
	case *parse.NumberNode:
		return numeral(n)
	}
	return nil, false
}

// numeral is an integer that is an int wherever it stands, or a decimal fraction.
func numeral(n *parse.NumberNode) (any, bool) {
	if i, err := strconv.Atoi(n.Text); err == nil && int64(i) == n.Int64 {
		return i, true
	}
	return n.Float64, n.IsFloat && strings.Contains(n.Text, ".") && strings.Trim(n.Text, "-.0123456789") == ""
}

// dot reads fields of the dot.
func (o *outliner) dot(names []string) expression {
	slot, strict := o.scope.dot, o.template.options.Strict
	return func(r *run) (any, bool) { return fields(r.slots[slot], names, strict) }
}

// variable reads fields of a variable. A variable that is nil misses them, unless a loop set it to null.
func (o *outliner) variable(name string, names []string) expression {
	v, ok := o.scope.variable(name)
	if !ok {
		return nil
	}
	strict, missing := o.template.options.Strict, !v.looped && !o.template.options.Strict
	return func(r *run) (any, bool) {
		if value := r.slots[v.slot]; value != nil || len(names) == 0 || !missing {
			return fields(value, names, strict)
		}
		return nil, true
	}
}

func (o *outliner) chain(n *parse.ChainNode) expression {
	of, strict := o.operand(n.Node), o.template.options.Strict
	if of == nil {
		return nil
	}
	return func(r *run) (any, bool) {
		v, ok := of(r)
		if !ok {
			return nil, false
		}
		return fields(v, n.Field, strict)
	}
}

// fields reads fields. A key that is not there gives nil, and so do all fields of that; those of null are an error.
func fields(v any, names []string, strict bool) (any, bool) {
	for _, name := range names {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[name]; !ok {
			return nil, !strict
		}
	}
	return v, true
}

// choice is or, the first argument that is true, or and, the first that is not; or else the last. One that is piped is the last, but
// computed before all others.
func choice(wanted bool, args []expression, final expression) expression {
	if hasNil(args) || len(args) == 0 {
		return nil
	}
	choose := func(r *run) (v any, found, ok bool) {
		for _, arg := range args {
			if v, ok = arg(r); !ok {
				return nil, false, false
			}
			if yes, known := truth(v); !known || yes == wanted {
				return v, true, known
			}
		}
		return v, false, true
	}
	if final == nil {
		return func(r *run) (any, bool) {
			v, _, ok := choose(r)
			return v, ok
		}
	}
	return func(r *run) (any, bool) {
		last, ok := final(r)
		if !ok {
			return nil, false
		}
		v, found, ok := choose(r)
		if !found {
			v = last
		}
		return v, ok
	}
}

func hasNil(list []expression) bool {
	for _, e := range list {
		if e == nil {
			return true
		}
	}
	return false
}

// truth is what if decides by.
func truth(v any) (yes, known bool) {
	switch v := v.(type) {
	case nil:
		return false, true
	case bool:
		return v, true
	case string:
		return v != "", true
	case int64:
		return v != 0, true
	case []any:
		return len(v) > 0, true
	case []string:
		return len(v) > 0, true
	}
	return template.IsTrue(v)
}
