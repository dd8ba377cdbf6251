package render

import (
	"maps"
	"slices"
	"strings"
	"text/template/parse"
)

// Names of the functions that count. A template cannot name them: they stand in no table of functions.
const (
	callFunc  = "call_"  // in front of a template call
	rangeFunc = "range_" // at the end of what a loop is over
	weighFunc = "weigh_" // around what a builtin reads as a whole, and at the end of actions in templates that mutate
)

// unnamed takes these names out of the text of a node.
var unnamed = strings.NewReplacer("<"+rangeFunc+">: ", "", "<"+weighFunc+">: ", "", " | "+rangeFunc, "", " | "+weighFunc, "", weighFunc+" ", "")

// readers are the builtins that read arguments as a whole, and from where on.
var readers = map[string]int{"eq": 1, "ne": 1, "lt": 1, "le": 1, "gt": 1, "ge": 1, "index": 2}

// contents is what a walk over the parse trees finds.
type contents struct {
	trees     map[string]*parse.Tree
	functions []*parse.IdentifierNode
	lists     []*parse.ListNode
	loops     []*parse.RangeNode
	pipes     []*parse.PipeNode
}

func inspect(trees map[string]*parse.Tree) *contents {
	c := &contents{trees: trees}
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
	c.pipes = append(c.pipes, p)
	for _, cmd := range p.Cmds {
		for _, arg := range cmd.Args {
			c.node(arg)
		}
	}
}

// instrument puts a counter into every loop, in front of every template call, and around what builtins read: what else a
// template has ends by itself. If values can change under their names, what is printed is weighed too.
func instrument(c *contents, mutates bool) {
	for _, l := range c.lists {
		l.Nodes = counted(l.Nodes)
		if mutates {
			weighed(l.Nodes)
		}
	}
	for _, p := range c.pipes {
		p.Cmds = read(p.Cmds)
	}
	for _, loop := range c.loops {
		loop.Pipe.Cmds = append(loop.Pipe.Cmds, command(rangeFunc, loop.Pos))
	}
}

func counted(nodes []parse.Node) []parse.Node {
	var out []parse.Node
	for _, n := range nodes {
		if call, ok := n.(*parse.TemplateNode); ok {
			pipe := pipeline(call.Pos, command(callFunc, call.Pos))
			out = append(out, &parse.ActionNode{NodeType: parse.NodeAction, Pos: call.Pos, Pipe: pipe})
		}
		out = append(out, n)
	}
	return out
}

func weighed(nodes []parse.Node) {
	for _, n := range nodes {
		if action, ok := n.(*parse.ActionNode); ok && len(action.Pipe.Decl) == 0 {
			action.Pipe.Cmds = append(action.Pipe.Cmds, command(weighFunc, action.Pos))
		}
	}
}

// read weighs what the readers among the commands get, as arguments and from the command before.
func read(cmds []*parse.CommandNode) []*parse.CommandNode {
	var out []*parse.CommandNode
	for i, cmd := range cmds {
		id, ok := cmd.Args[0].(*parse.IdentifierNode)
		from := 0
		if ok {
			from = readers[id.Ident]
		}
		if from > 0 && i > 0 {
			out = append(out, command(weighFunc, cmd.Pos))
		}
		for n := from; from > 0 && n < len(cmd.Args); n++ {
			cmd.Args[n] = measured(cmd.Args[n])
		}
		out = append(out, cmd)
	}
	return out
}

// measured leaves literals alone that weigh next to nothing.
func measured(arg parse.Node) parse.Node {
	switch n := arg.(type) {
	case *parse.NumberNode, *parse.BoolNode, *parse.NilNode:
		return arg
	case *parse.StringNode:
		if len(n.Text) <= bytesPerStep {
			return arg
		}
	}
	cmd := command(weighFunc, arg.Position())
	cmd.Args = append(cmd.Args, arg)
	return pipeline(arg.Position(), cmd)
}

func pipeline(pos parse.Pos, cmd *parse.CommandNode) *parse.PipeNode {
	return &parse.PipeNode{NodeType: parse.NodePipe, Pos: pos, Cmds: []*parse.CommandNode{cmd}}
}

func command(name string, pos parse.Pos) *parse.CommandNode {
	id := parse.NewIdentifier(name).SetPos(pos)
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: []parse.Node{id}}
}
