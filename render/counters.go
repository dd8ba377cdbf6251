package render

import (
	"strings"
	"text/template/parse"
)

// Names of the functions that count. A template cannot name them, because no table of functions
// lists them.
const (
	callFunc  = "call_"  // in front of a template call
	rangeFunc = "range_" // at the end of the range of a loop
	weighFunc = "weigh_" // around arguments that a builtin reads as a whole, and at the end of actions in templates that mutate
)

// unnamed takes these names out of the text of a node.
var unnamed = strings.NewReplacer("<"+rangeFunc+">: ", "", "<"+weighFunc+">: ", "", " | "+rangeFunc, "", " | "+weighFunc, "", weighFunc+" ", "")

// readers are the builtins that read whole arguments, with the index of the first such argument.
var readers = map[string]int{"eq": 1, "ne": 1, "lt": 1, "le": 1, "gt": 1, "ge": 1, "index": 2}

// walk visits the nodes of a tree that may hold others or name a function, those within a node
// before it.
func walk(n parse.Node, visit func(parse.Node)) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, n := range n.Nodes {
			walk(n, visit)
		}
	case *parse.ActionNode:
		walk(n.Pipe, visit)
	case *parse.IfNode:
		walkBranch(&n.BranchNode, visit)
	case *parse.WithNode:
		walkBranch(&n.BranchNode, visit)
	case *parse.RangeNode:
		walkBranch(&n.BranchNode, visit)
	case *parse.TemplateNode:
		walk(n.Pipe, visit)
	case *parse.PipeNode:
		if n == nil {
			return
		}
		for _, cmd := range n.Cmds {
			for _, arg := range cmd.Args {
				walk(arg, visit)
			}
		}
	case *parse.ChainNode:
		walk(n.Node, visit)
	}
	visit(n)
}

func walkBranch(b *parse.BranchNode, visit func(parse.Node)) {
	walk(b.Pipe, visit)
	walk(b.List, visit)
	walk(b.ElseList, visit)
}

// count puts a counter into every loop, in front of every template call, and around the arguments
// of builtins. Everything else in a template ends by itself. If the template can change values, the
// printed values are also weighed.
func count(tree *parse.Tree, mutates bool) {
	walk(tree.Root, func(n parse.Node) {
		switch n := n.(type) {
		case *parse.ListNode:
			n.Nodes = countCalls(n.Nodes)
		case *parse.ActionNode:
			if mutates && len(n.Pipe.Decl) == 0 {
				n.Pipe.Cmds = append(n.Pipe.Cmds, command(weighFunc, n.Pos))
			}
		case *parse.RangeNode:
			n.Pipe.Cmds = append(n.Pipe.Cmds, command(rangeFunc, n.Pos))
		case *parse.PipeNode:
			n.Cmds = weighReads(n.Cmds)
		}
	})
}

func countCalls(nodes []parse.Node) []parse.Node {
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

// weighReads weighs what readers get, as arguments and from the previous command of the pipeline.
func weighReads(cmds []*parse.CommandNode) []*parse.CommandNode {
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
			cmd.Args[n] = weighed(cmd.Args[n])
		}
		out = append(out, cmd)
	}
	return out
}

// weighed does not weigh literals, which cost almost nothing.
func weighed(arg parse.Node) parse.Node {
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
