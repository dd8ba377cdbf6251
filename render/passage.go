package render

import (
	"slices"
	"strconv"
	"text/template/parse"
)

const (
	// passageFunc begins the names of the functions that write passages.
	passageFunc = "passage_"

	// maxRoots is how many values a passage can begin at. No passage of the presets has more.
	maxRoots = 4
)

// A passage is a straight part of a template: text, and values that are read and printed, without any decision between
// them. text/template finds every field by reflection and calls every function by reflection, which took half the time of
// a whole transition. So a passage becomes one call in the parse tree,
//
//	{{ if passage_0 . $now }}{{ else }}the passage as it was{{ end }}
//
// that writes all of it or nothing. It gives up, and text/template does what it always did, wherever it is not certain that
// the result would be the same and no error. So the texts, the errors with their places and the steps that are left are those
// of a template without passages, as FuzzPassages holds.
//
// If a loop over a field follows, the passage also pays for it, and then the loop stands in the branch that was empty, without
// the call of its own that would pay.
type passage struct {
	name  string
	roots []string // what its values begin at: "." and names of variables, the arguments of the call
	parts []part
}

// A part of a passage writes to the run. It returns false to give up.
type part func(r *run) bool

// play writes the passage, or nothing and returns false.
func (r *run) play(p *passage) (ok bool) {
	written, left := len(r.out), r.left
	defer func() {
		// An Env may panic. text/template will ask it again, and say where.
		if fault := recover(); fault != nil || !ok {
			ok, r.out, r.left = false, r.out[:written], left
		}
		r.stack = r.stack[:0]
	}()
	for _, write := range p.parts {
		if !write(r) {
			return false
		}
	}
	return true
}

// passage is the function that text/template calls. It is none with a list of arguments, because those are slow to call.
func (r *run) passage(p *passage) any {
	switch len(p.roots) {
	case 0:
		return func() bool { return r.play(p) }
	case 1:
		return func(a any) bool { r.roots = [maxRoots]any{a}; return r.play(p) }
	case 2:
		return func(a, b any) bool { r.roots = [maxRoots]any{a, b}; return r.play(p) }
	case 3:
		return func(a, b, c any) bool { r.roots = [maxRoots]any{a, b, c}; return r.play(p) }
	default:
		return func(a, b, c, d any) bool { r.roots = [maxRoots]any{a, b, c, d}; return r.play(p) }
	}
}

// A hastener finds the passages of a template.
type hastener struct {
	builtin  func(name string) bool // no function of the user hides it
	strict   bool                   // a missing key is an error
	used     map[string]bool        // variables that are read or assigned anywhere
	roots    []string               // of the passage at hand
	passages []*passage
}

// hasten puts the passages of a template into its trees, which must have their counters already.
func (t *Template) hasten(c *contents) {
	h := &hastener{strict: t.options.Strict, used: c.variables, builtin: func(name string) bool { return t.options.Funcs[name] == nil }}
	for _, l := range c.lists {
		l.Nodes = h.list(l.Nodes)
	}
	t.passages = h.passages
}

func (h *hastener) list(nodes []parse.Node) []parse.Node {
	var out []parse.Node
	for len(nodes) > 0 {
		p, n := h.passage(nodes)
		if p == nil {
			out, nodes = append(out, nodes[0]), nodes[1:]
			continue
		}
		out, nodes = append(out, p.node(nodes[:n:n])), nodes[n:]
	}
	return out
}

// passage takes as many nodes as make one; nil if that would be text alone.
func (h *hastener) passage(nodes []parse.Node) (*passage, int) {
	h.roots = nil
	var parts []part
	values := 0
	for _, n := range nodes {
		roots := len(h.roots)
		write := h.part(n)
		if write == nil || len(h.roots) > maxRoots {
			h.roots = h.roots[:roots]
			break
		}
		parts = append(parts, write)
		if n.Type() == parse.NodeAction {
			values++
		}
	}
	if values == 0 {
		return nil, 0
	}
	if len(parts) < len(nodes) {
		if pay := h.loop(nodes[len(parts)]); pay != nil {
			parts = append(parts, pay)
		}
	}
	p := &passage{name: passageFunc + strconv.Itoa(len(h.passages)), roots: h.roots, parts: parts}
	h.passages = append(h.passages, p)
	return p, len(parts)
}

// node is the call, with what stands in the template as its alternative.
func (p *passage) node(nodes []parse.Node) parse.Node {
	pos := nodes[0].Position()
	call := command(p.name, pos)
	for _, root := range p.roots {
		call.Args = append(call.Args, rootNode(root, pos))
	}
	done := &parse.ListNode{NodeType: parse.NodeList, Pos: pos}
	if loop, ok := nodes[len(nodes)-1].(*parse.RangeNode); ok {
		done.Nodes = []parse.Node{paid(loop)}
	}
	return &parse.IfNode{BranchNode: parse.BranchNode{
		NodeType: parse.NodeIf, Pos: pos,
		Pipe:     pipeline(pos, call),
		List:     done,
		ElseList: &parse.ListNode{NodeType: parse.NodeList, Pos: pos, Nodes: nodes},
	}}
}

// paid is the loop without the command that pays for it, the last one.
func paid(loop *parse.RangeNode) *parse.RangeNode {
	free, pipe := *loop, *loop.Pipe
	pipe.Cmds = pipe.Cmds[:len(pipe.Cmds)-1]
	free.Pipe = &pipe
	return &free
}

func rootNode(name string, pos parse.Pos) parse.Node {
	if name == "." {
		return &parse.DotNode{NodeType: parse.NodeDot, Pos: pos}
	}
	return &parse.VariableNode{NodeType: parse.NodeVariable, Pos: pos, Ident: []string{name}}
}

// root is the place of a root among those of the passage.
func (h *hastener) root(name string) int {
	i := slices.Index(h.roots, name)
	if i < 0 {
		i, h.roots = len(h.roots), append(h.roots, name)
	}
	return i
}

// part returns nil for a node that is in no passage.
func (h *hastener) part(n parse.Node) part {
	switch n := n.(type) {
	case *parse.TextNode:
		text := string(n.Text)
		return func(r *run) bool { return r.writeText(text) }
	case *parse.ActionNode:
		return h.action(n.Pipe)
	}
	return nil
}

// action is a value that is printed or, for a variable that nothing uses, looked up in vain: that may fail.
func (h *hastener) action(p *parse.PipeNode) part {
	if len(p.Decl) > 0 {
		return h.unused(p)
	}
	if last := len(p.Cmds) - 1; last > 0 && h.isQuote(p.Cmds[last]) {
		return printing(h.pipe(p.Cmds[:last]), (*run).writeQuoted)
	}
	return printing(h.pipe(p.Cmds), (*run).writeValue)
}

func (h *hastener) unused(p *parse.PipeNode) part {
	for _, variable := range p.Decl {
		if h.used[variable.Ident[0]] {
			return nil
		}
	}
	return printing(h.pipe(p.Cmds), func(*run, any) bool { return true })
}

// loop pays for a loop over a field; nil if the node is none. Values other than maps and lists are left to text/template, because it
// tells of those that it cannot loop over.
func (h *hastener) loop(n parse.Node) part {
	loop, ok := n.(*parse.RangeNode)
	if !ok || len(loop.Pipe.Cmds) != 2 || len(loop.Pipe.Cmds[0].Args) != 1 {
		return nil
	}
	roots := len(h.roots)
	field, ok := loop.Pipe.Cmds[0].Args[0].(*parse.FieldNode)
	if !ok || h.root(".") == maxRoots {
		h.roots = h.roots[:roots]
		return nil
	}
	return printing(h.path(".", field.Ident), (*run).enter)
}

func (r *run) enter(v any) bool {
	passes := 1.0
	switch v := v.(type) {
	case nil:
	case []any:
		passes = float64(len(v))
	case map[string]any:
		passes = float64(len(v))
	default:
		return false
	}
	return r.spend(1+passes) == nil
}

func printing(value expression, write func(*run, any) bool) part {
	if value == nil {
		return nil
	}
	return func(r *run) bool {
		v, ok := value(r)
		return ok && write(r, v)
	}
}

func (h *hastener) isQuote(cmd *parse.CommandNode) bool {
	id, ok := cmd.Args[0].(*parse.IdentifierNode)
	return ok && len(cmd.Args) == 1 && id.Ident == "Quote" && h.builtin("Quote")
}
