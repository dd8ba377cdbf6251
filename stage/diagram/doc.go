// Package diagram draws lifecycles as Mermaid, DOT or SVG: a graph that package explore made, or
// Stages as they are written.
//
// # Usage
//
//	graph, err := explore.Explore(ctx, set, explore.Options{}, pod)
//	…
//	svg := diagram.FromGraph(graph, diagram.Options{Stages: source.Stages()}).SVG()
//	text := diagram.FromStages(source.Stages()).Mermaid()
//
// # Pictures
//
// The diagram of a graph has a box for each State, and an arrow for each Transition, labelled with
// its Stage, its chance if other Stages can be played too, and its delay. A start has a thick
// border, an end a double one, and a State in a livelock a red one. A dashed arrow is an action of
// a user, a red arrow a Transition that failed. In SVG and DOT the tooltip of an arrow shows the
// selector of the Stage, its weight, its effects and what they change. Selectors can also be
// written beside the arrows.
//
// The diagram of Stages has a box for each Stage with its selector, delay, weight and effects. A
// dashed arrow means that a Stage may lead to another one: it writes a literal value that the other
// one requires, and none that it excludes.
//
// # SVG
//
// The picture is one file without scripts, fonts or links. It has a background of its own, so that
// it can be read on any page, and dark colours for readers who prefer those. The width of text is
// estimated. The layout is made for some hundred boxes; use Graphviz for larger graphs.
//
// # Determinism
//
// The same graph gives the same text, byte for byte.
//
// # Concurrency
//
// A Diagram is plain data; its methods do not change it.
package diagram
