package lint

import (
	"text/template/parse"
)

// A fieldRead is a field of the object that a template reads.
type fieldRead struct {
	path
	list bool // a range iterates over it
}

// fieldsRead lists the fields of the object that a template reads, also by index with a constant
// name. Inside range and with, where the dot is another value, it sees only the fields that begin
// with $.
func (t template) fieldsRead() []fieldRead {
	tree := parse.New("")
	tree.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := tree.Parse(t.text, "", "", trees); err != nil || tree.Root == nil {
		return nil
	}
	r := fieldReader{}
	r.nodes(tree.Root, true)
	return r.found
}

// maxTried is the largest number of fields of a template that are tried one by one.
const maxTried = 50

// fieldsTried are the first fields that a template reads.
func (t template) fieldsTried() []fieldRead {
	all := t.fieldsRead()
	return all[:min(len(all), maxTried)]
}

// hasFieldsRead reports whether obj has all fields that the templates of the Stage read, so that
// rendering it shows their effects.
func (s *checkedStage) hasFieldsRead(obj map[string]any) bool {
	for _, t := range s.templates {
		for _, r := range t.fieldsRead() {
			if _, there := r.get(obj); !there {
				return false
			}
		}
	}
	return true
}

type fieldReader struct{ found []fieldRead }

// nodes visits the nodes of a list. While top is true, the dot is the object.
func (r *fieldReader) nodes(l *parse.ListNode, top bool) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			r.pipe(n.Pipe, top)
		case *parse.IfNode:
			r.branch(&n.BranchNode, top, top)
		case *parse.WithNode:
			r.branch(&n.BranchNode, top, false)
		case *parse.RangeNode:
			first := len(r.found)
			r.branch(&n.BranchNode, top, false)
			for i := range r.found[first:] {
				r.found[first+i].list = true
			}
		}
	}
}

func (r *fieldReader) branch(b *parse.BranchNode, top, inside bool) {
	r.pipe(b.Pipe, top)
	r.nodes(b.List, inside)
	r.nodes(b.ElseList, top)
}

func (r *fieldReader) pipe(p *parse.PipeNode, top bool) {
	for _, c := range p.Cmds {
		r.index(c, top)
		for _, arg := range c.Args {
			r.add(fieldsOf(arg, top)...)
			if inner, ok := arg.(*parse.PipeNode); ok {
				r.pipe(inner, top)
			}
		}
	}
}

// index adds the field of a call such as index .metadata.annotations "name".
func (r *fieldReader) index(c *parse.CommandNode, top bool) {
	if len(c.Args) != 3 || c.Args[0].String() != "index" {
		return
	}
	names := fieldsOf(c.Args[1], top)
	if key, ok := c.Args[2].(*parse.StringNode); ok && len(names) > 0 {
		r.add(append(names[:len(names):len(names)], key.Text)...)
	}
}

func (r *fieldReader) add(names ...string) {
	if len(names) == 0 {
		return
	}
	var p path
	for _, name := range names {
		p = append(p, step{field: name, index: -1})
	}
	r.found = append(r.found, fieldRead{path: p})
}

func fieldsOf(n parse.Node, top bool) []string {
	switch n := n.(type) {
	case *parse.FieldNode:
		if top {
			return n.Ident
		}
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			return n.Ident[1:]
		}
	}
	return nil
}
