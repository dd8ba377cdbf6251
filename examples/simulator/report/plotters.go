package report

import (
	"image/color"
	"math"
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
			fillRect(c, colour(i), vg.Rectangle{Min: vg.Point{X: toX(left), Y: toY(0)}, Max: vg.Point{X: toX(left + each), Y: toY(bin.Y)}})
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
			fillRect(c, colour(s.State), vg.Rectangle{Min: vg.Point{X: toX(s.From), Y: toY(y - 0.36)}, Max: vg.Point{X: toX(s.To), Y: toY(y + 0.36)}})
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

// An errorBars is a plot.Plotter: a vertical line at each point that has a Half.
type errorBars struct {
	points []Point
	colour color.NRGBA
}

func (e errorBars) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	style := draw.LineStyle{Color: e.colour, Width: 0.8}
	for _, at := range e.points {
		if !(at.Half > 0) {
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
		xmin, xmax = min(xmin, at.X), max(xmax, at.X)
		ymin, ymax = min(ymin, at.Y-at.Half), max(ymax, at.Y+at.Half)
	}
	return xmin, xmax, ymin, ymax
}

func fillRect(c draw.Canvas, fill color.Color, r vg.Rectangle) {
	if r.Max.X <= r.Min.X || r.Max.Y <= r.Min.Y {
		return
	}
	c.FillPolygon(fill, []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}})
}
