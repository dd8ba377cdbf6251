package report

import (
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// labels is about how many labels an axis has.
const labels = 6

// ticks are at whole multiples of 1, 2 or 5 times a power of ten.
func ticks(least, most float64) (all []plot.Tick) {
	step := roundUp((most - least) / labels)
	for n := math.Ceil(least / step); n*step <= most; n++ {
		all = append(all, plot.Tick{Value: n * step, Label: strconv.FormatFloat(n*step, 'g', 6, 64)})
	}
	return all
}

// roundUp returns the next larger of the numbers that are 1, 2 or 5 times a power of ten.
func roundUp(v float64) float64 {
	if !(v > 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, digit := range []float64{1, 2, 5} {
		if digit*power > v {
			return digit * power
		}
	}
	return 10 * power
}

// A histogram is a plot.Plotter: bars in groups.
type histogram struct{ series []Series }

func (h histogram) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	w := h.width()
	each := w * 0.84 / float64(len(h.series))
	for i, s := range h.series {
		for _, bin := range s.Points {
			left := bin.X - w*0.42 + float64(i)*each
			fillRect(c, seriesColor(i), vg.Rectangle{Min: vg.Point{X: toX(left), Y: toY(0)}, Max: vg.Point{X: toX(left + each), Y: toY(bin.Y)}})
		}
	}
}

// width is the width of an interval.
func (h histogram) width() float64 { return 2 * h.series[0].Points[0].X }

// DataRange is for plot.Plot.
func (h histogram) DataRange() (xmin, xmax, ymin, ymax float64) {
	return 0, h.width() * float64(len(h.series[0].Points)), 0, largest(h.series)
}

// A ganttRows is a plot.Plotter. The first row is at the top, at 0, the next at -1.
type ganttRows struct{ rows []Row }

func (g ganttRows) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	for i, r := range g.rows {
		for _, s := range r.Spans {
			y := -float64(i)
			fillRect(c, seriesColor(s.State), vg.Rectangle{Min: vg.Point{X: toX(s.From), Y: toY(y - 0.36)}, Max: vg.Point{X: toX(s.To), Y: toY(y + 0.36)}})
		}
	}
}

// DataRange is for plot.Plot.
func (g ganttRows) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax = math.Inf(1), math.Inf(-1)
	for _, r := range g.rows {
		for _, s := range r.Spans {
			xmin, xmax = min(xmin, s.From), max(xmax, s.To)
		}
	}
	if xmin > xmax {
		xmin, xmax = 0, 1
	}
	return xmin, xmax, -float64(len(g.rows)) + 0.4, 0.6
}

// half is Half, or 0 without one to draw: the interval of a single value is infinite.
func (p Point) half() float64 {
	if p.Half > 0 && !math.IsInf(p.Half, 1) {
		return p.Half
	}
	return 0
}

// An errorBars is a plot.Plotter: a vertical line at each point that has a Half.
type errorBars struct {
	points []Point
	color  color.NRGBA
}

func (e errorBars) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	style := draw.LineStyle{Color: e.color, Width: 0.8}
	for _, at := range e.points {
		if at.half() == 0 {
			continue
		}
		x, low, high := toX(at.X), toY(at.Y-at.Half), toY(at.Y+at.Half)
		c.StrokeLine2(style, x, low, x, high)
		for _, y := range []vg.Length{low, high} {
			c.StrokeLine2(style, x-2.5, y, x+2.5, y)
		}
	}
}

// DataRange is for plot.Plot.
func (e errorBars) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax, ymin, ymax = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, at := range e.points {
		half := at.half()
		xmin, xmax = min(xmin, at.X), max(xmax, at.X)
		ymin, ymax = min(ymin, at.Y-half), max(ymax, at.Y+half)
	}
	return xmin, xmax, ymin, ymax
}

// An area is a plot.Plotter: the band around a line.
type area struct {
	points []Point
	color  color.NRGBA
}

func (a area) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	var above, below []vg.Point
	for _, at := range a.points {
		half := at.half()
		above = append(above, vg.Point{X: toX(at.X), Y: toY(at.Y + half)})
		below = append(below, vg.Point{X: toX(at.X), Y: toY(at.Y - half)})
	}
	slices.Reverse(below)
	fill := a.color
	fill.A = 0x40
	c.FillPolygon(fill, append(above, below...))
}

// DataRange is for plot.Plot.
func (a area) DataRange() (xmin, xmax, ymin, ymax float64) { return errorBars(a).DataRange() }

// An intervalRows is a plot.Plotter. The first row is at the top, at 0, the next at -1.
type intervalRows struct{ series []Series }

func (r intervalRows) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	c.StrokeLine2(draw.LineStyle{Color: gridColor, Width: 0.8}, toX(0), toY(p.Y.Min), toX(0), toY(p.Y.Max))
	for i, s := range r.series {
		for _, at := range s.Points {
			y, style := toY(-float64(i)), draw.LineStyle{Color: seriesColor(0), Width: 1.2}
			if at.half() > 0 {
				low, high := toX(at.Y-at.Half), toX(at.Y+at.Half)
				c.StrokeLine2(style, low, y, high, y)
				c.StrokeLine2(style, low, y-2.5, low, y+2.5)
				c.StrokeLine2(style, high, y-2.5, high, y+2.5)
			}
			c.DrawGlyph(draw.GlyphStyle{Color: seriesColor(0), Shape: draw.CircleGlyph{}, Radius: 2.4}, vg.Point{X: toX(at.Y), Y: y})
		}
	}
}

// DataRange is for plot.Plot.
func (r intervalRows) DataRange() (xmin, xmax, ymin, ymax float64) {
	for _, s := range r.series {
		for _, at := range s.Points {
			half := at.half()
			xmin, xmax = min(xmin, at.Y-half), max(xmax, at.Y+half)
		}
	}
	return xmin, xmax, -float64(len(r.series)) + 0.4, 0.6
}

func fillRect(c draw.Canvas, fill color.Color, r vg.Rectangle) {
	if r.Max.X <= r.Min.X || r.Max.Y <= r.Min.Y {
		return
	}
	c.FillPolygon(fill, []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}})
}
