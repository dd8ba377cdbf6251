// Package diagram draws lifecycles as Mermaid, DOT or SVG. It draws a graph of package explore, or
// the Stages themselves.
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
// The diagram of a graph has a box for each State, and an arrow for each Transition, labeled with
// its Stage and its delay. If other Stages can also be played, the label has the chance. A start
// has a thick border, an end has a double border, and a State in a livelock has a red border. A
// dashed arrow is an action of a user. A red arrow is a Transition that failed. In SVG and DOT the
// tooltip of an arrow shows the selector of the Stage, its weight, its effects and what they
// change. Selectors can also be written next to the arrows.
//
// The diagram of Stages has a box for each Stage with its selector, delay, weight and effects. A
// dashed arrow means that a Stage can lead to another Stage: it writes a literal value that the
// other Stage requires, and no value that the other Stage excludes.
//
// # SVG
//
// The picture is one file without scripts, fonts or links. It has its own background, so that it
// can be read on any page, and dark colors for readers who prefer a dark page. The width of text is
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
