package render

import (
	"encoding/binary"
	"errors"
	"text/template"
	"text/template/parse"
)

// An outline is a template reduced to its decisions. text/template finds every field and calls every function by
// reflection, which took half the time of a whole transition. So what it executes first is not the template
//
//	{{ $n := .name }}{{ range .list }}- {{ .a }}{{ if .b }}, {{ $n }}{{ end }}{{ end }}
//
// but its outline, where each straight piece became a text that stands for it, and all that is asked about is $:
//
//	0{{ range $ }}1{{ if $ }}2{{ end }}{{ end }}
//
// Behind such a text, a mark, is a passage. When text/template writes the mark, the run plays the passage: it computes the values that are
// printed, sets variables, goes on to the next element of a loop, and last sets $ to what text/template decides on next.
//
// A passage gives up wherever it is not certain that the result would be the same and no error. Then the rendering begins
// anew, with the template itself. So texts, errors with their places and the steps that are left are always those of
// text/template, as FuzzOutlines holds.
type outline struct {
	root      *template.Template
	passages  []*passage
	functions []string // that passages call by reflection
	slots     int      // how many values passages keep
	loops     int
}

// A passage computes by its parts, and writes its pieces.
type passage struct {
	parts  []part
	pieces []piece
	size   int // bytes of the texts among the pieces
	texts  int
}

// A part returns false to give up.
type part func(r *run) bool

// A piece is a text of the template, or a print: the place of one that the run keeps.
type piece struct {
	text   string
	isText bool
	quoted bool // the print, unless it is verbatim
}

var errGaveUp = errors.New("a passage gave up")

// follower is the run as text/template sees it when it executes an outline.
type follower run

// Write plays the passage behind a mark.
func (f *follower) Write(mark []byte) (int, error) {
	r := (*run)(f)
	if !r.play(r.outline.passages[binary.LittleEndian.Uint32(mark)]) {
		return 0, errGaveUp
	}
	return len(mark), nil
}

// play computes what a passage writes and decides.
func (r *run) play(p *passage) bool {
	r.route = append(r.route, crossing{r.decided, p})
	r.decided = 0
	r.size += p.size
	r.left -= float64(p.texts)
	for _, compute := range p.parts {
		if !compute(r) {
			return false
		}
	}
	return r.left >= 0 && r.size <= r.options.Output
}

// An outliner makes the outline of a template whose counters are in place.
type outliner struct {
	template *Template
	outline  *outline
	scope    scope    // of the node at hand
	passage  *passage // that has no mark yet
	unknown  bool     // the template has something that no outline has
}

// outlined returns nil for a template that has no outline: one that calls templates, for example.
func (t *Template) outlined(root *parse.Tree) *outline {
	o := &outliner{template: t, outline: &outline{slots: firstSlots}, scope: outermost()}
	tree := &parse.Tree{Name: rootName, Root: o.list(root.Root)}
	if o.unknown {
		return nil
	}
	o.outline.root, _ = template.New(rootName).AddParseTree(rootName, tree) // which never fails for a name of one's own
	return o.outline
}

// list outlines nodes, behind the parts that come first in their first passage. What they declare ends with them.
func (o *outliner) list(l *parse.ListNode, first ...part) *parse.ListNode {
	if l == nil {
		return nil
	}
	outer := o.scope
	o.passage = &passage{parts: first}
	out := &parse.ListNode{NodeType: parse.NodeList}
	for _, n := range l.Nodes {
		out.Nodes = append(out.Nodes, o.node(n)...)
	}
	out.Nodes = append(out.Nodes, o.mark()...)
	o.scope = outer
	return out
}

// node adds to the passage at hand; or it ends that, and returns the mark and what text/template decides behind it.
func (o *outliner) node(n parse.Node) []parse.Node {
	switch n := n.(type) {
	case *parse.TextNode:
		o.text(string(n.Text))
	case *parse.ActionNode:
		o.action(n.Pipe)
	case *parse.IfNode:
		return o.branch(&n.BranchNode)
	case *parse.WithNode:
		return o.with(&n.BranchNode)
	case *parse.RangeNode:
		return o.loop(n)
	case *parse.BreakNode, *parse.ContinueNode:
		return append(o.mark(), n)
	default:
		o.unknown = true
	}
	return nil
}

// add takes nil for what no passage has.
func (o *outliner) add(p part) {
	o.unknown = o.unknown || p == nil
	o.passage.parts = append(o.passage.parts, p)
}

func (o *outliner) text(s string) {
	if s != "" {
		o.passage.pieces = append(o.passage.pieces, piece{text: s, isText: true})
		o.passage.size += len(s)
		o.passage.texts++
	}
}

// mark ends the passage at hand.
func (o *outliner) mark() []parse.Node {
	if len(o.passage.parts)+len(o.passage.pieces) == 0 {
		return nil
	}
	text := binary.LittleEndian.AppendUint32(nil, uint32(len(o.outline.passages)))
	o.outline.passages = append(o.outline.passages, o.passage)
	o.passage = &passage{}
	return []parse.Node{&parse.TextNode{NodeType: parse.NodeText, Text: text}}
}

// action prints, or sets a variable.
func (o *outliner) action(p *parse.PipeNode) {
	if len(p.Decl) > 0 {
		o.add(using(o.value(p), func(*run, any) bool { return true }))
		return
	}
	last := len(p.Cmds) - 1
	quoted := last > 0 && o.isQuote(p.Cmds[last])
	o.passage.pieces = append(o.passage.pieces, piece{quoted: quoted})
	if quoted {
		o.add(using(o.pipe(p.Cmds[:last]), (*run).printQuoted))
	} else {
		o.add(using(o.pipe(p.Cmds), (*run).printValue))
	}
}

// using is the part that does something with a value.
func using(value expression, do func(r *run, v any) bool) part {
	if value == nil {
		return nil
	}
	return func(r *run) bool {
		v, ok := value(r)
		return ok && do(r, v)
	}
}

func (o *outliner) isQuote(cmd *parse.CommandNode) bool {
	id, ok := cmd.Args[0].(*parse.IdentifierNode)
	return ok && len(cmd.Args) == 1 && id.Ident == "Quote" && !o.isUsers("Quote")
}

// value is that of a pipeline, which sets the variable that it declares or assigns to.
func (o *outliner) value(p *parse.PipeNode) expression {
	value := o.pipe(p.Cmds)
	if value == nil || len(p.Decl) == 0 {
		return value
	}
	name := p.Decl[0].Ident[0]
	if !p.IsAssign {
		o.declare(variable{name: name, slot: o.slot()})
	}
	variable, ok := o.scope.variable(name)
	if !ok {
		return nil
	}
	return func(r *run) (v any, ok bool) {
		v, ok = value(r)
		r.slots[variable.slot] = v
		return v, ok
	}
}

// branch outlines an if: $ is whether its value is true.
func (o *outliner) branch(b *parse.BranchNode) []parse.Node {
	outer := o.scope
	o.add(using(o.value(b.Pipe), (*run).decide))
	nodes := o.mark()
	then, otherwise := o.list(b.List), o.list(b.ElseList)
	o.scope = outer
	return append(nodes, &parse.IfNode{BranchNode: decided(parse.NodeIf, then, otherwise)})
}

// with outlines a with, as an if: its value is the dot of the first list.
func (o *outliner) with(b *parse.BranchNode) []parse.Node {
	outer := o.scope
	value, dot := o.value(b.Pipe), o.slot()
	o.add(using(value, func(r *run, v any) bool {
		r.slots[dot] = v
		return r.decide(v)
	}))
	nodes := o.mark()
	otherwise := o.list(b.ElseList)
	o.scope.dot = dot
	then := o.list(b.List)
	o.scope = outer
	return append(nodes, &parse.IfNode{BranchNode: decided(parse.NodeIf, then, otherwise)})
}

func (r *run) decide(v any) bool {
	yes, known := truth(v)
	if r.decision = yes; yes {
		r.decided = 1
	}
	return known
}

// decided is a node that asks about $.
func decided(kind parse.NodeType, then, otherwise *parse.ListNode) parse.BranchNode {
	ask := &parse.VariableNode{NodeType: parse.NodeVariable, Ident: []string{"$"}}
	cmd := &parse.CommandNode{NodeType: parse.NodeCommand, Args: []parse.Node{ask}}
	pipe := &parse.PipeNode{NodeType: parse.NodePipe, Cmds: []*parse.CommandNode{cmd}}
	return parse.BranchNode{NodeType: kind, Pipe: pipe, List: then, ElseList: otherwise}
}
