package render

import (
	"maps"
	"slices"
	"text/template/parse"
)

// Names of the functions that count. A template cannot name them: they stand in no table of functions.
const (
	stepFunc  = "step_"  // in front of the body of a loop
	callFunc  = "call_"  // in front of a template call
	printFunc = "print_" // at the end of an action, in templates that mutate
)

// contents is what a walk over the parse trees finds.
type contents struct {
	functions []*parse.IdentifierNode
	lists     []*parse.ListNode
	loops     []*parse.RangeNode
}

func inspect(trees map[string]*parse.Tree) *contents {
	c := &contents{}
	for _, name := range slices.Sorted(maps.Keys(trees)) {
		c.list(trees[name].Root)
	}
	slices.SortStableFunc(c.functions, func(a, b *parse.IdentifierNode) int { return int(a.Pos - b.Pos) })
	return c
}

// names of the functions, each once.
func (c *contents) names() []string {
	var names []string
	for _, id := range c.functions {
		names = append(names, id.Ident)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (c *contents) list(l *parse.ListNode) {
	if l == nil {
		return
	}
	c.lists = append(c.lists, l)
	for _, n := range l.Nodes {
		c.node(n)
	}
}

func (c *contents) node(n parse.Node) {
	switch n := n.(type) {
	case *parse.ActionNode:
		c.pipe(n.Pipe)
	case *parse.IfNode:
		c.branch(&n.BranchNode)
	case *parse.WithNode:
		c.branch(&n.BranchNode)
	case *parse.RangeNode:
		c.loops = append(c.loops, n)
		c.branch(&n.BranchNode)
	case *parse.TemplateNode:
		c.pipe(n.Pipe)
	case *parse.PipeNode:
		c.pipe(n)
	case *parse.ChainNode:
		c.node(n.Node)
	case *parse.IdentifierNode:
		c.functions = append(c.functions, n)
	}
}

func (c *contents) branch(b *parse.BranchNode) {
	c.pipe(b.Pipe)
	c.list(b.List)
	c.list(b.ElseList)
}

func (c *contents) pipe(p *parse.PipeNode) {
	if p == nil {
		return
	}
	for _, cmd := range p.Cmds {
		for _, arg := range cmd.Args {
			c.node(arg)
		}
	}
}

// instrument puts a counter into the body of every loop and in front of every template call: what else a template has
// ends by itself. If values can change under their names, what is printed is weighed too.
func instrument(c *contents, mutates bool) {
	for _, l := range c.lists {
		l.Nodes = counted(l.Nodes)
		if mutates {
			weighed(l.Nodes)
		}
	}
	for _, loop := range c.loops {
		loop.List.Nodes = slices.Insert(loop.List.Nodes, 0, parse.Node(counter(stepFunc, loop.Pos)))
	}
}

func counted(nodes []parse.Node) []parse.Node {
	var out []parse.Node
	for _, n := range nodes {
		if call, ok := n.(*parse.TemplateNode); ok {
			out = append(out, counter(callFunc, call.Pos))
		}
		out = append(out, n)
	}
	return out
}

func weighed(nodes []parse.Node) {
	for _, n := range nodes {
		if action, ok := n.(*parse.ActionNode); ok && len(action.Pipe.Decl) == 0 {
			action.Pipe.Cmds = append(action.Pipe.Cmds, command(printFunc, action.Pos))
		}
	}
}

// counter is the action {{name}}.
func counter(name string, pos parse.Pos) *parse.ActionNode {
	pipe := &parse.PipeNode{NodeType: parse.NodePipe, Pos: pos, Cmds: []*parse.CommandNode{command(name, pos)}}
	return &parse.ActionNode{NodeType: parse.NodeAction, Pos: pos, Pipe: pipe}
}

func command(name string, pos parse.Pos) *parse.CommandNode {
	id := parse.NewIdentifier(name).SetPos(pos)
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: []parse.Node{id}}
}
