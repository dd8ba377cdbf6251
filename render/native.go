package render

import (
	"strconv"
	"text/template/parse"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// An expression computes a pipeline without text/template. It returns false where it is not certain that text/template would
// find the same value and no error. What is missing is nil, as functions see it.
type expression func(r *run) (any, bool)

// A native is a function as expressions call it.
type native struct {
	args int
	call func(r *run, args []any) (any, bool)
}

// natives are the functions in which the templates of Pods and Nodes spend their time.
var natives = map[string]native{
	"Now":        {0, func(r *run, _ []any) (any, bool) { return r.now(), true }},
	"Quote":      {1, func(r *run, args []any) (any, bool) { return certain(r.quote(args[0])) }},
	"NodeIPWith": {1, nodeIPWith},
	"PodIPWith":  {5, podIPWith},
	"index":      {2, element},
	weighFunc:    {1, func(r *run, args []any) (any, bool) { return args[0], r.weigh(args[0], 0) == nil }},
}

func certain[T any](v T, err error) (any, bool) { return v, err == nil }

func nodeIPWith(r *run, args []any) (any, bool) {
	node, ok := args[0].(string)
	if !ok {
		return nil, false
	}
	return certain(r.nodeIP(node))
}

func podIPWith(r *run, args []any) (any, bool) {
	node, isText := args[0].(string)
	hostNetwork, isBool := args[1].(bool)
	if !isText || !isBool {
		return nil, false
	}
	var id [3]string // uid, name and namespace
	for i := range id {
		var ok bool
		if id[i], ok = args[2+i].(string); !ok {
			return nil, false
		}
	}
	return certain(r.podIPWith(node, hostNetwork, id[0], id[1], id[2]))
}

// element is what index finds in a list.
func element(_ *run, args []any) (any, bool) {
	list, isList := args[0].([]any)
	i, isInt := args[1].(int)
	if !isList || !isInt || i < 0 || i >= len(list) {
		return nil, false
	}
	return list[i], true
}

// pipe returns nil if one of the commands is no expression.
func (h *hastener) pipe(cmds []*parse.CommandNode) expression {
	var value expression
	for _, cmd := range cmds {
		if value = h.command(cmd, value); value == nil {
			return nil
		}
	}
	return value
}

// command is given the value of the command before, nil if it is the first.
func (h *hastener) command(cmd *parse.CommandNode, final expression) expression {
	id, ok := cmd.Args[0].(*parse.IdentifierNode)
	if ok {
		return h.function(id.Ident, cmd.Args[1:], final)
	}
	if len(cmd.Args) > 1 || final != nil {
		return nil
	}
	return h.operand(cmd.Args[0])
}

func (h *hastener) function(name string, nodes []parse.Node, final expression) expression {
	if !h.builtin(name) {
		return nil
	}
	var args []expression
	for _, n := range nodes {
		arg := h.operand(n)
		if arg == nil {
			return nil
		}
		args = append(args, arg)
	}
	if name == "or" && final == nil && len(args) > 0 {
		return or(args)
	}
	if final != nil {
		args = append(args, final)
	}
	return call(natives[name], args)
}

func (h *hastener) operand(n parse.Node) expression {
	switch n := n.(type) {
	case *parse.DotNode:
		return h.path(".", nil)
	case *parse.FieldNode:
		return h.path(".", n.Ident)
	case *parse.VariableNode:
		return h.path(n.Ident[0], n.Ident[1:])
	case *parse.StringNode:
		return constant(n.Text)
	case *parse.BoolNode:
		return constant(n.True)
	case *parse.NumberNode:
		return integer(n)
	case *parse.IdentifierNode:
		return h.function(n.Ident, nil, nil)
	case *parse.PipeNode:
		if len(n.Decl) == 0 {
			return h.pipe(n.Cmds)
		}
	}
	return nil
}

func constant(v any) expression {
	return func(*run) (any, bool) { return v, true }
}

// integer is a number that is an int wherever it stands.
func integer(n *parse.NumberNode) expression {
	if i, err := strconv.Atoi(n.Text); err == nil && int64(i) == n.Int64 {
		return constant(i)
	}
	return nil
}

// path reads fields. A key that is not there gives nil, and so do all fields of that; those of null are an error.
func (h *hastener) path(name string, fields []string) expression {
	root, strict := h.root(name), h.strict
	return func(r *run) (any, bool) {
		v := r.roots[root]
		for _, field := range fields {
			m, ok := v.(map[string]any)
			if !ok {
				return nil, false
			}
			if v, ok = m[field]; !ok {
				return nil, !strict
			}
		}
		return v, true
	}
}

// or is the first argument that is true, or else the last.
func or(args []expression) expression {
	return func(r *run) (v any, ok bool) {
		for _, arg := range args {
			if v, ok = arg(r); !ok {
				return nil, false
			}
			yes, known := truth(v)
			if !known || yes {
				return v, known
			}
		}
		return v, true
	}
}

// truth is that of JSON values; those of other types it does not know.
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
	case map[string]any:
		return len(v) > 0, true
	}
	return false, false
}

// call collects the arguments on the stack of the run, because those in a slice of its own would be allocated.
func call(fn native, args []expression) expression {
	if fn.call == nil || fn.args != len(args) {
		return nil
	}
	return func(r *run) (any, bool) {
		base := len(r.stack)
		for _, arg := range args {
			v, ok := arg(r)
			if !ok {
				return nil, false
			}
			r.stack = append(r.stack, v)
		}
		v, ok := fn.call(r, r.stack[base:])
		r.stack = r.stack[:base]
		return v, ok
	}
}

// writeValue prints like fmt.Print. What text/template would print otherwise, it does not know.
func (r *run) writeValue(v any) bool {
	switch v := v.(type) {
	case string:
		return r.writeText(v)
	case bool:
		return r.writeText(strconv.FormatBool(v))
	case int64:
		return r.writeText(strconv.FormatInt(v, 10))
	case int:
		return r.writeText(strconv.Itoa(v))
	}
	return false
}

// writeQuoted prints what Quote returns.
func (r *run) writeQuoted(v any) bool {
	s, ok := v.(string)
	if !ok || !object.IsPlain(s) {
		quoted, err := r.quote(v)
		return err == nil && r.writeText(quoted)
	}
	if r.weigh(v, 0) != nil || r.room(len(s)+2) != nil {
		return false
	}
	r.out = append(r.out, '"')
	r.out = append(r.out, s...)
	r.out = append(r.out, '"')
	return r.spend(1) == nil
}

// writeText does as Write.
func (r *run) writeText(s string) bool {
	if s == "" {
		return true
	}
	if r.room(len(s)) != nil {
		return false
	}
	r.out = append(r.out, s...)
	return r.spend(1) == nil
}
