// Package diagram draws lifecycles: a graph that was explored, or Stages as they are written, as Mermaid, DOT or SVG.
//
// # Usage
//
//	graph, err := explore.Explore(ctx, set, explore.Options{}, pod)
//	…
//	svg := diagram.Explored(graph, diagram.Options{Stages: source.Stages()}).SVG()
//	text := diagram.Static(source.Stages()).Mermaid()
//
// # Pictures
//
// An explored graph has a box for each State, and an arrow for each transition with its Stage, its chance if others can be played too,
// and its delay. Boxes with a thick border are starts, with a double one ends, and red ones belong to a livelock. Dashed arrows are
// actions of a user, red ones failed. The selector of the Stage in short, its weight, its effects and what they change are tooltips in
// SVG and DOT; selectors can also be written beside the arrows.
//
// The static picture has a box for each Stage, with its selector in short, its delay and weight, and its effects. A dashed arrow means
// that a Stage may lead to another: it writes a literal value that the other asks for, and none that the other refuses.
//
// # SVG
//
// The picture is one file without scripts, fonts or links. It has a background of its own, so that it can be read on any page, and is
// dark where the reader prefers that. The width of text is estimated. Nodes are laid out in layers, which suits up to some hundred;
// larger graphs are better given to Graphviz.
//
// # Determinism
//
// The same graph gives the same text, byte for byte.
//
// # Concurrency
//
// A Diagram is plain data, its methods do not change it.
package diagram
