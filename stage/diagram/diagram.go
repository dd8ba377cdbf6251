package diagram

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/stagecraft-go/stagecraft/stage/explore"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// A Diagram is boxes and arrows. It is plain data.
type Diagram struct {
	Boxes  []Box
	Arrows []Arrow
}

// A Box is a State of a graph, or a Stage.
type Box struct {
	Title   string
	Lines   []string // below the title
	Tooltip string   // shown by SVG and DOT
	Style   Style
}

// An Arrow leads from a box to a box.
type Arrow struct {
	From, To int // indexes into Diagram.Boxes
	Title    string
	Lines    []string
	Tooltip  string
	Style    Style
}

// A Style says how a box or an arrow is drawn.
type Style int

// The Styles. A box is Plain, Start, End or Problem; an arrow is Plain, Dashed or Problem.
const (
	Plain Style = iota
	Start
	End
	Dashed
	Problem
)

// Options of [FromGraph]. The zero value leaves the selectors out of the labels.
type Options struct {
	// Stages are the Stages of the graph. Their selectors become tooltips of the transitions.
	Stages []v1alpha1.Stage
	// Selectors writes the selectors also next to the arrows.
	Selectors bool
}

// FromGraph makes a diagram of an explored graph: a box for each State and an arrow for each
// Transition.
func FromGraph(g *explore.Graph, o Options) *Diagram {
	d := &Diagram{}
	looks := stylesOf(g)
	for _, s := range g.States {
		b := Box{Title: s.Label, Style: looks[s.ID]}
		if s.Unexplored {
			b.Lines = append(b.Lines, "not explored")
		}
		d.Boxes = append(d.Boxes, b)
	}
	selectors := map[string][]string{} // by kind and name
	for _, st := range o.Stages {
		selectors[st.Spec.ResourceRef.Kind+" "+st.Name] = conditions(&st.Spec)
	}
	for _, t := range g.Transitions {
		a, selector := arrow(t), selectors[t.Key.Kind+" "+t.Stage]
		if o.Selectors {
			a.Lines = append(a.Lines, selector...)
		}
		a.Tooltip = strings.Join(slices.Concat(selector, tooltipLines(t)), "\n")
		d.Arrows = append(d.Arrows, a)
	}
	return d
}

func stylesOf(g *explore.Graph) []Style {
	looks := make([]Style, len(g.States))
	for _, id := range g.Terminal() {
		looks[id] = End
	}
	for _, id := range g.Starts {
		looks[id] = Start
	}
	for _, c := range g.Cycles() {
		for _, id := range c.States {
			if c.Livelock {
				looks[id] = Problem
			}
		}
	}
	return looks
}

func arrow(t explore.Transition) Arrow {
	a := Arrow{From: t.From, To: t.To, Title: t.Stage, Lines: []string{explore.FormatDelay(t.Delay)}}
	switch {
	case t.Action != "":
		a.Title, a.Lines, a.Style = t.Action, nil, Dashed
	case t.Chance < 1:
		a.Lines[0] += " · " + explore.FormatPercent(t.Chance)
	}
	if t.Err != nil {
		a.Style = Problem
		a.Lines = append(a.Lines, "fails")
	}
	return a
}

// tooltipLines describe a transition beyond its label: weight, effects, error and changes.
func tooltipLines(t explore.Transition) (lines []string) {
	if t.Weight >= 0 {
		lines = append(lines, fmt.Sprintf("weight %d", t.Weight))
	}
	for _, e := range t.Effects {
		lines = append(lines, e.String())
	}
	if t.Err != nil {
		lines = append(lines, t.Err.Error())
	}
	for _, c := range t.Changes {
		lines = append(lines, c.String())
	}
	for i, line := range lines {
		lines[i] = shorten(line, 120)
	}
	return lines
}

// shorten cuts a line after n characters.
func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// Mermaid returns a Mermaid flowchart, which GitHub can render.
func (d *Diagram) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	shapes := map[Style][2]string{Start: {"([", "])"}, End: {"[[", "]]"}}
	for i, box := range d.Boxes {
		shape, ok := shapes[box.Style]
		if !ok {
			shape = [2]string{"(", ")"}
		}
		fmt.Fprintf(&b, "  n%d%s\"%s\"%s\n", i, shape[0], mermaidText(box.Title, box.Lines), shape[1])
	}
	for _, a := range d.Arrows {
		line := "-->"
		if a.Style == Dashed {
			line = "-.->"
		}
		label := ""
		if a.Title != "" {
			label = "|\"" + mermaidText(a.Title, a.Lines) + "\"|"
		}
		fmt.Fprintf(&b, "  n%d %s%s n%d\n", a.From, line, label, a.To)
	}
	return b.String() + d.mermaidStyles()
}

// mermaidStyles draws boxes and arrows with the style Problem in red.
func (d *Diagram) mermaidStyles() string {
	var b strings.Builder
	for i, box := range d.Boxes {
		if box.Style == Problem {
			fmt.Fprintf(&b, "  style n%d stroke:#d1242f\n", i)
		}
	}
	for i, a := range d.Arrows {
		if a.Style == Problem {
			fmt.Fprintf(&b, "  linkStyle %d stroke:#d1242f\n", i)
		}
	}
	return b.String()
}

var mermaidEscapes = strings.NewReplacer("&", "#amp;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "#", "#35;", "`", "#96;", "\n", " ")

// mermaidText returns a label. It is never empty, because Mermaid refuses empty labels.
func mermaidText(title string, lines []string) string {
	text := []string{mermaidEscapes.Replace(printable(cmp.Or(title, " ")))}
	for _, line := range lines {
		text = append(text, mermaidEscapes.Replace(printable(line)))
	}
	return strings.Join(text, "<br/>")
}

// printable replaces invalid UTF-8, and characters that are not printable, other than line breaks.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && r != '\n' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// DOT returns the diagram in the language of Graphviz.
func (d *Diagram) DOT() string {
	var b strings.Builder
	b.WriteString("digraph lifecycle {\n")
	b.WriteString("  graph [rankdir=TB, nodesep=0.4, ranksep=0.5];\n")
	b.WriteString("  node [shape=box, style=rounded, fontname=\"Helvetica\", fontsize=12];\n")
	b.WriteString("  edge [fontname=\"Helvetica\", fontsize=10];\n")
	styles := map[Style]string{Start: ", penwidth=2", End: ", peripheries=2", Dashed: ", style=dashed", Problem: ", color=\"#d1242f\""}
	for i, box := range d.Boxes {
		fmt.Fprintf(&b, "  n%d [label=%s%s%s];\n", i, dotText(box.Title, box.Lines), styles[box.Style], tooltipAttribute(box.Tooltip))
	}
	for _, a := range d.Arrows {
		fmt.Fprintf(&b, "  n%d -> n%d [label=%s%s%s];\n", a.From, a.To, dotText(a.Title, a.Lines), styles[a.Style], tooltipAttribute(a.Tooltip))
	}
	b.WriteString("}\n")
	return b.String()
}

var dotEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func dotText(title string, lines []string) string {
	all := slices.Concat([]string{title}, lines)
	return `"` + dotEscapes.Replace(printable(strings.Join(all, "\n"))) + `"`
}

func tooltipAttribute(note string) string {
	if note == "" {
		return ""
	}
	return `, tooltip="` + dotEscapes.Replace(printable(note)) + `"`
}
