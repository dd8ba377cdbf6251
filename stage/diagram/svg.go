package diagram

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/layout"
)

// Sizes in pixels.
const (
	margin     = 20.0
	titleSize  = 13.0
	lineSize   = 11.0
	lineHeight = 15.0
	padding    = 10.0
)

// css has colors for light and dark pages.
const css = `
    text { font-family: system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 11px; fill: #57606a; }
    .title { font-size: 13px; font-weight: 600; fill: #1f2328; }
    .arrow .title { font-size: 11px; }
    .page { fill: #ffffff; stroke: #d0d7de; }
    .box { fill: #f6f8fa; stroke: #8c959f; stroke-width: 1; }
    .start { stroke: #0969da; stroke-width: 2.5; }
    .inner { fill: none; stroke: #8c959f; }
    .alarming { stroke: #d1242f; stroke-width: 2; }
    path { fill: none; stroke: #57606a; stroke-width: 1.25; }
    .dashed { stroke: #8c959f; stroke-dasharray: 5 4; }
    .tip { fill: #57606a; stroke: none; }
    .tip-dashed { fill: #8c959f; stroke: none; }
    .tip-alarming { fill: #d1242f; stroke: none; }
    @media (prefers-color-scheme: dark) {
      text { fill: #9198a1; }
      .title { fill: #f0f6fc; }
      .page { fill: #0d1117; stroke: #3d444d; }
      .box { fill: #151b23; stroke: #656c76; }
      .start { stroke: #4493f8; }
      .inner { stroke: #656c76; }
      .alarming { stroke: #f85149; }
      path { stroke: #9198a1; }
      .dashed { stroke: #656c76; }
      .tip { fill: #9198a1; }
      .tip-dashed { fill: #656c76; }
      .tip-alarming { fill: #f85149; }
    }
`

// SVG draws the picture.
func (d *Diagram) SVG() []byte {
	nodes, edges := make([]layout.Node, len(d.Boxes)), make([]layout.Edge, len(d.Arrows))
	for i, b := range d.Boxes {
		w, h := textSize(b.Title, titleSize, b.Lines)
		nodes[i] = layout.Node{Width: math.Round(w + 2*padding + 4), Height: h + 2*padding}
	}
	for i, a := range d.Arrows {
		edges[i] = layout.Edge{From: a.From, To: a.To, Weight: straightness[a.Style]}
		if a.Title != "" {
			edges[i].Width, edges[i].Height = textSize(a.Title, lineSize, a.Lines)
		}
	}
	p := picture{drawing: layout.Draw(nodes, edges)}
	p.begin()
	for i, a := range d.Arrows {
		p.arrow(a, p.drawing.Paths[i])
	}
	for i, b := range d.Boxes {
		p.box(b, nodes[i], p.drawing.Nodes[i])
	}
	p.printf("  </g>\n</svg>\n")
	return p.out.Bytes()
}

// straightness is the weight with which layout keeps an arrow straight.
var straightness = map[Style]float64{Plain: 8, Dashed: 1, Problem: 4}

// A picture is an SVG file while it is written.
type picture struct {
	drawing layout.Drawing
	out     bytes.Buffer
}

func (p *picture) printf(format string, args ...any) { fmt.Fprintf(&p.out, format, args...) }

func (p *picture) begin() {
	w, h := number(p.drawing.Width+2*margin), number(p.drawing.Height+2*margin)
	p.printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=%q height=%q viewBox=\"0 0 %s %s\">\n", w, h, w, h)
	p.printf("  <style>%s  </style>\n  <defs>\n", css)
	for _, tip := range []string{"tip", "tip-dashed", "tip-alarming"} {
		p.printf("    <marker id=%q viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"9\" markerHeight=\"9\" "+
			"markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=%q d=\"M0 1 L10 5 L0 9 z\"/></marker>\n", tip, tip)
	}
	p.printf("  </defs>\n  <rect class=\"page\" x=\"0.5\" y=\"0.5\" width=%q height=%q rx=\"8\"/>\n",
		number(p.drawing.Width+2*margin-1), number(p.drawing.Height+2*margin-1))
	p.printf("  <g transform=\"translate(%s %s)\">\n", number(margin), number(margin))
}

var arrowClasses = map[Style][2]string{Plain: {"plain", "tip"}, Dashed: {"dashed", "tip-dashed"}, Problem: {"alarming", "tip-alarming"}}

func (p *picture) arrow(a Arrow, path layout.Path) {
	class := arrowClasses[a.Style]
	if class[0] == "" {
		class = arrowClasses[Plain]
	}
	way := curve(path.Points, a.From == a.To)
	p.printf("    <g class=\"arrow\">%s<path class=%q d=%q marker-end=\"url(#%s)\"/>", tooltipElement(a.Tooltip), class[0], way, class[1])
	if a.Title != "" {
		_, h := textSize(a.Title, lineSize, a.Lines)
		p.text(a.Title, a.Lines, layout.Point{X: path.Label.X, Y: path.Label.Y - h/2}, "start")
	}
	p.printf("</g>\n")
}

func (p *picture) box(b Box, size layout.Node, at layout.Point) {
	class := "box"
	switch b.Style {
	case Start:
		class += " start"
	case Problem:
		class += " alarming"
	}
	x, y := at.X-size.Width/2, at.Y-size.Height/2
	rect := func(class string, inset, radius float64) {
		p.printf("<rect class=%q x=%q y=%q width=%q height=%q rx=%q/>", class,
			number(x+inset), number(y+inset), number(size.Width-2*inset), number(size.Height-2*inset), number(radius))
	}
	p.printf("    <g>%s", tooltipElement(b.Tooltip))
	rect(class, 0, 8)
	if b.Style == End {
		rect("inner", 3, 5)
	}
	p.text(b.Title, b.Lines, layout.Point{X: at.X, Y: y + padding}, "middle")
	p.printf("</g>\n")
}

// text writes lines of text below a point.
func (p *picture) text(title string, lines []string, at layout.Point, anchor string) {
	for i, line := range slices.Concat([]string{title}, lines) {
		class := ""
		if i == 0 {
			class = ` class="title"`
		}
		p.printf("<text%s x=%q y=%q text-anchor=%q>%s</text>", class, number(at.X), number(at.Y+lineHeight*float64(i)+11), anchor, escape(line))
	}
}

func tooltipElement(text string) string {
	if text == "" {
		return ""
	}
	return "<title>" + escape(text) + "</title>"
}

// escape returns text for XML. Characters that XML does not allow become U+FFFD.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder does not fail
	return b.String()
}

// number formats a coordinate with at most one decimal.
func number(x float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0")
}

// curve returns an SVG path that goes smoothly through the points and is vertical at its ends. A
// loop goes round its middle point.
func curve(points []layout.Point, loop bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "M%s", coordinates(points[0]))
	if loop {
		a, m, c := points[0], points[1], points[2]
		upper, lower := layout.Point{X: m.X, Y: a.Y}, layout.Point{X: m.X, Y: c.Y}
		fmt.Fprintf(&b, " C%s %s %s C%s %s %s", coordinates(upper), coordinates(upper), coordinates(m), coordinates(lower), coordinates(lower), coordinates(c))
		return b.String()
	}
	for i, to := range points[1:] {
		from, third := points[i], (to.Y-points[i].Y)/3
		leave := layout.Point{X: from.X + slope(points, i)*third, Y: from.Y + third}
		enter := layout.Point{X: to.X - slope(points, i+1)*third, Y: to.Y - third}
		fmt.Fprintf(&b, " C%s %s %s", coordinates(leave), coordinates(enter), coordinates(to))
	}
	return b.String()
}

// slope is the change of x with y at a point: the harmonic mean of the slopes on both sides, so
// that the curve never turns back between two points.
func slope(points []layout.Point, i int) float64 {
	if i == 0 || i == len(points)-1 {
		return 0
	}
	before, here, after := points[i-1], points[i], points[i+1]
	if before.Y == here.Y || here.Y == after.Y {
		return 0
	}
	a, b := (here.X-before.X)/(here.Y-before.Y), (after.X-here.X)/(after.Y-here.Y)
	if a*b <= 0 {
		return 0
	}
	return 2 * a * b / (a + b)
}

func coordinates(p layout.Point) string { return number(p.X) + " " + number(p.Y) }

// textSize estimates the size of some text, rounded up.
func textSize(title string, size float64, lines []string) (width, height float64) {
	width = 1.22 * textWidth(title) * size // it is bold
	for _, line := range lines {
		width = max(width, 1.12*textWidth(line)*lineSize)
	}
	return width, lineHeight * float64(1+len(lines))
}

// letterWidths are the widths of letters in usual sans-serif fonts, as a share of the font size.
var letterWidths = []struct {
	letters string
	breadth float64
}{{"ijl|.,:;'!", 0.29}, {"frt()[]{}/-\" ", 0.37}, {"mwMW@%", 0.9}, {"ABCDEFGHJKLNOPQRSTUVXYZ&–→≠", 0.7}}

func textWidth(s string) (sum float64) {
	for _, r := range s {
		b := 0.58
		for _, class := range letterWidths {
			if strings.ContainsRune(class.letters, r) {
				b = class.breadth
			}
		}
		if r > 0x2e80 { // ideographs
			b = 1
		}
		sum += b
	}
	return sum
}
