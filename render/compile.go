package render

import (
	"maps"
	"slices"
	"text/template/parse"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// A definition is the whole text of a template, or a {{define}} in it, compiled to closures. The
// definition of the whole text is the program of the template. It does the same as text/template,
// but does not look up every field and function by reflection.
//
// The compiler knows if, with, range, break, continue, variables, template calls, and pipelines of
// fields, literals and functions, over JSON values. A template with anything else has no program. A
// program gives up if text/template might treat a value in another way, or might return an error.
// Then text/template renders the template from the beginning. So the text, the errors with their
// places, and the remaining steps are always the same as with text/template. FuzzProgram checks
// this.
type definition struct {
	body  action
	slots int // the length of its frame
}

// An action is a node of the parse tree, or a list of them: it writes, and sets variables.
type action func(s *state) control

// control says where a template goes on after an action.
type control int

const (
	next control = iota
	breaks
	continues
)

// maxDepth of template calls, beyond which text/template does them.
const maxDepth = 1000

// call executes a definition with new variables.
func (s *state) call(d *definition, dot any) {
	if s.depth++; s.depth > maxDepth {
		giveUp()
	}
	caller := s.frame
	s.frame = make([]any, d.slots)
	s.frame[dotSlot], s.frame[rootSlot] = dot, dot
	d.body(s)
	s.frame = caller
	s.depth--
}

// A compiler makes the program of a template that already has its counters.
type compiler struct {
	template    *Template
	trees       map[string]*parse.Tree
	definitions map[string]*definition
	unknown     bool // the template has something that programs do not have

	scope scope // of the present node
	slots int   // of the present definition so far
}

// compile returns nil for a template that has no program.
func (t *Template) compile(trees map[string]*parse.Tree) *definition {
	if t.mutates {
		return nil
	}
	c := &compiler{template: t, trees: trees, definitions: map[string]*definition{}}
	main := c.definition(rootName)
	if c.unknown {
		return nil
	}
	return main
}

// definition compiles one once, so that it may call itself.
func (c *compiler) definition(name string) *definition {
	d, tree := c.definitions[name], c.trees[name]
	if tree == nil {
		c.unknown = true
	}
	if d != nil || tree == nil {
		return d
	}
	d = &definition{}
	c.definitions[name] = d
	scope, slots := c.scope, c.slots
	c.scope, c.slots = outermost()
	d.body = c.list(tree.Root)
	d.slots = c.slots
	c.scope, c.slots = scope, slots
	return d
}

// list compiles nodes. What they declare ends with them.
func (c *compiler) list(l *parse.ListNode) action {
	if l == nil {
		return func(*state) control { return next }
	}
	outer := c.scope
	var actions []action
	for _, n := range l.Nodes {
		actions = append(actions, c.action(n))
	}
	c.scope = outer
	return func(s *state) control {
		for _, do := range actions {
			if to := do(s); to != next {
				return to
			}
		}
		return next
	}
}

func (c *compiler) action(n parse.Node) action {
	switch n := n.(type) {
	case *parse.TextNode:
		text := string(n.Text)
		return func(s *state) control { s.print(text); return next }
	case *parse.ActionNode:
		return c.output(n.Pipe)
	case *parse.IfNode:
		return c.branch(&n.BranchNode, false)
	case *parse.WithNode:
		return c.branch(&n.BranchNode, true)
	case *parse.RangeNode:
		return c.loop(n)
	case *parse.BreakNode:
		return func(*state) control { return breaks }
	case *parse.ContinueNode:
		return func(*state) control { return continues }
	case *parse.TemplateNode:
		return c.templateCall(n)
	}
	c.unknown = true
	return nil
}

// output compiles the pipeline of an action, which prints its value unless it sets a variable.
func (c *compiler) output(p *parse.PipeNode) action {
	last := len(p.Cmds) - 1
	switch {
	case len(p.Decl) > 0:
		value := c.pipeline(p)
		return func(s *state) control { value(s); return next }
	case last > 0 && c.isQuote(p.Cmds[last]):
		value := c.commands(p.Cmds[:last])
		return func(s *state) control { s.printQuoted(value(s)); return next }
	}
	value := c.pipeline(p)
	return func(s *state) control { s.printValue(value(s)); return next }
}

// isQuote reports whether a command is Quote without arguments: most of what templates print is
// piped to it.
func (c *compiler) isQuote(cmd *parse.CommandNode) bool {
	id, ok := cmd.Args[0].(*parse.IdentifierNode)
	return ok && len(cmd.Args) == 1 && id.Ident == "Quote" && c.template.options.Funcs["Quote"] == nil
}

// branch compiles an if, or a with, whose value is the dot of its list.
func (c *compiler) branch(b *parse.BranchNode, with bool) action {
	outer := c.scope
	value := c.pipeline(b.Pipe)
	otherwise := c.list(b.ElseList)
	dot := c.slot()
	if with {
		c.scope.dot = dot
	}
	then := c.list(b.List)
	c.scope = outer
	return func(s *state) control {
		v := value(s)
		if !truth(v) {
			return otherwise(s)
		}
		s.frame[dot] = v
		return then(s)
	}
}

// loop compiles a range.
func (c *compiler) loop(n *parse.RangeNode) action {
	c.unknown = c.unknown || n.Pipe.IsAssign
	outer := c.scope
	over := c.commands(n.Pipe.Cmds)
	otherwise := c.list(n.ElseList)
	key, value := c.slot(), c.slot()
	for i, id := range n.Pipe.Decl {
		slot := [...]int{key, value}[i+2-len(n.Pipe.Decl)]
		c.declare(variable{id.Ident[0], slot, true})
	}
	c.scope.dot = value
	body := c.list(n.List)
	c.scope = outer
	return func(s *state) control {
		keys, values := elements(over(s))
		if len(values) == 0 {
			return otherwise(s)
		}
		for i, v := range values {
			s.frame[key], s.frame[value] = i, v
			if keys != nil {
				s.frame[key] = keys[i]
			}
			if body(s) == breaks {
				break
			}
		}
		return next
	}
}

// elements returns the keys and values of a range. The keys are nil if they are the numbers 0, 1,
// 2.
func elements(over any) (keys []string, values []any) {
	switch over := over.(type) {
	case nil:
	case map[string]any:
		keys = slices.Sorted(maps.Keys(over))
		for _, k := range keys {
			values = append(values, over[k])
		}
	case []int:
		for _, n := range over {
			values = append(values, n)
		}
	default:
		list, ok := object.ToSlice(over)
		if !ok {
			giveUp()
		}
		values = list
	}
	return keys, values
}

func (c *compiler) templateCall(n *parse.TemplateNode) action {
	dot := constant(nil)
	if n.Pipe != nil {
		c.unknown = c.unknown || len(n.Pipe.Decl) > 0
		dot = c.pipeline(n.Pipe)
	}
	d := c.definition(n.Name)
	return func(s *state) control { s.call(d, dot(s)); return next }
}
