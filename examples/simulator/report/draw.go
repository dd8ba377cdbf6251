package report

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"regexp"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	width  = 13.5 * vg.Centimeter
	height = 6.0 * vg.Centimeter
	wide   = 27.8 * vg.Centimeter
	rowGap = 0.42 * vg.Centimeter // of the rows of a Gantt chart
	line   = 5 * vg.Millimeter    // of text above a chart
)

// palette has colors that can be distinguished, with a contrast of at least three to a white and to
// a dark page.
var palette = []color.NRGBA{
	{0x2f, 0x7d, 0xd9, 0xff}, {0xd9, 0x6a, 0x14, 0xff}, {0x1b, 0x94, 0x6c, 0xff}, {0xb0, 0x5c, 0xc8, 0xff}, {0x8a, 0x82, 0x1c, 0xff}, {0xd2, 0x4d, 0x6e, 0xff},
}

var (
	// textColor is black; in a page it becomes the color of the text.
	textColor = color.NRGBA{A: 0xff}
	// gridColor is for axes and grid lines.
	gridColor = color.NRGBA{0x80, 0x80, 0x80, 0xff}
	pageColor = color.NRGBA{0xff, 0xff, 0xff, 0xff}
)

func seriesColor(i int) color.NRGBA { return palette[i%len(palette)] }

// rowwise reports whether a chart has rows.
func (c Chart) rowwise() bool { return c.kind == gantt || c.kind == intervals }

func (c Chart) size() (w, h vg.Length) {
	w, h = width, height
	if c.Wide {
		w = wide
	}
	if c.rowwise() {
		h = 2*vg.Centimeter + rowGap*vg.Length(max(len(c.rows), 4))
	}
	return w, h
}

// draw draws a chart, with its title if the chart is a separate file.
func (c Chart) draw(to draw.Canvas, alone bool) error {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.X.Label.Text, p.Y.Label.Text = c.X, c.Y
	c.style(p)
	if err := c.fill(p); err != nil {
		return err
	}
	if alone {
		to = draw.Crop(to, 2*vg.Millimeter, -2*vg.Millimeter, 2*vg.Millimeter, -1.2*line)
		style := p.Title.TextStyle
		style.XAlign, style.YAlign = text.XLeft, text.YTop
		to.FillText(style, vg.Point{X: to.Min.X, Y: to.Max.Y + 0.95*line}, c.Title)
	}
	p.Draw(draw.Crop(to, 0, -3*vg.Millimeter, 0, -line*1.3))
	c.drawLegend(p, to)
	return nil
}

// style sets fonts and axes.
func (c Chart) style(p *plot.Plot) {
	for _, s := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		s.Font.Variant = "Sans"
		s.Font.Size = 9
		s.Color = textColor
	}
	p.Title.TextStyle.Font.Size = 11
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.LineStyle.Color, a.Tick.LineStyle.Color = gridColor, gridColor
		a.LineStyle.Width, a.Tick.LineStyle.Width = 0.5, 0.5
		a.Tick.Length = 3
		a.Tick.Marker = plot.TickerFunc(ticks)
	}
	if !c.rowwise() {
		grid := plotter.NewGrid()
		grid.Vertical.Color = nil
		grid.Horizontal.Color = color.NRGBA{0x80, 0x80, 0x80, 0x40}
		p.Add(grid)
	}
}

// fill adds the data.
func (c Chart) fill(p *plot.Plot) error {
	fills := map[kind]func(*plot.Plot) error{
		lines: c.fillLines, bands: c.fillLines, intervals: c.fillIntervals,
		steps: c.fillLines, shares: c.fillLines, bars: c.fillBars, gantt: c.fillRows,
	}
	if err := fills[c.kind](p); err != nil {
		return err
	}
	if !c.rowwise() {
		p.X.Min, p.Y.Min = min(p.X.Min, 0), min(p.Y.Min, 0)
		p.Y.Max = max(p.Y.Max, c.Ceiling) * 1.04
	}
	if p.X.Max <= p.X.Min {
		p.X.Max = p.X.Min + 1
	}
	if p.Y.Max <= p.Y.Min {
		p.Y.Max = p.Y.Min + 1
	}
	if c.Ceiling > 0 {
		line := plotter.NewFunction(func(float64) float64 { return c.Ceiling })
		line.Color, line.Width, line.Dashes = gridColor, 0.8, []vg.Length{4, 3}
		p.Add(line)
	}
	return nil
}

func (c Chart) fillLines(p *plot.Plot) error {
	for i, s := range c.series {
		if len(s.Points) == 0 {
			continue // nothing happened
		}
		line, err := plotter.NewLine(s.xys())
		if err != nil {
			return fmt.Errorf("series %s: %w", s.Name, err)
		}
		line.Color, line.Width = seriesColor(i), c.thickness(i)
		if c.kind == bands {
			p.Add(area{s.Points, seriesColor(i)})
		} else if c.kind != lines {
			line.StepStyle = plotter.PostStep
		}
		p.Add(line)
		if c.kind == lines {
			marks, err := plotter.NewScatter(s.xys())
			if err != nil {
				return err
			}
			marks.Color, marks.Shape, marks.Radius = seriesColor(i), draw.CircleGlyph{}, 2.2
			p.Add(marks, errorBars{s.Points, seriesColor(i)})
		}
	}
	return nil
}

// thickness is the width of a line. The first lines are thicker, so that they are visible behind
// others in the same place.
func (c Chart) thickness(i int) vg.Length {
	if c.kind == lines || c.kind == bands {
		return 1.4
	}
	return 1.2 + 0.8*vg.Length(min(len(c.series)-1-i, 2))
}

func (s Series) xys() plotter.XYs {
	xys := make(plotter.XYs, 0, len(s.Points))
	for _, p := range s.Points {
		xys = append(xys, plotter.XY{X: p.X, Y: p.Y})
	}
	return xys
}

// fillBars draws the bars of one interval side by side.
func (c Chart) fillBars(p *plot.Plot) error {
	if len(c.series) > 0 {
		p.Add(histogram{c.series})
	}
	return nil
}

func (c Chart) fillRows(p *plot.Plot) error {
	p.Add(ganttRows{c.rows})
	c.nameRows(p)
	return nil
}

func (c Chart) fillIntervals(p *plot.Plot) error {
	p.Add(intervalRows{c.series})
	c.nameRows(p)
	return nil
}

// nameRows writes the names of the rows at the left.
func (c Chart) nameRows(p *plot.Plot) {
	ticks := make([]plot.Tick, len(c.rows))
	for i, r := range c.rows {
		ticks[i] = plot.Tick{Value: -float64(i), Label: r.Name}
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Tick.Length = 0
	p.Y.LineStyle.Width = 0
}

// drawLegend draws the legend above the chart.
func (c Chart) drawLegend(p *plot.Plot, to draw.Canvas) {
	names := c.legend()
	if len(names) < 2 {
		return
	}
	style := p.Legend.TextStyle
	x, y := to.Min.X, to.Max.Y-0.7*line
	for i, name := range names {
		if name == "" {
			continue
		}
		to.FillPolygon(seriesColor(i), []vg.Point{{X: x, Y: y}, {X: x + 9, Y: y}, {X: x + 9, Y: y + 5}, {X: x, Y: y + 5}})
		to.FillText(style, vg.Point{X: x + 13, Y: y - 1.5}, name)
		x += 13 + style.Width(name) + 18
	}
}

// rawSVG draws a chart as gonum writes it.
func (c Chart) rawSVG(alone bool) (string, error) {
	w, h := c.size()
	canvas := vgsvg.NewWith(vgsvg.UseWH(w, h))
	to := draw.New(canvas)
	if alone {
		fillRect(to, pageColor, to.Rectangle)
	}
	if err := c.draw(to, alone); err != nil {
		return "", err
	}
	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	return b.String(), err
}

// families matches the fonts in gonum's output. It computes text widths with Liberation Sans; the
// other fonts have the same widths.
var families = regexp.MustCompile(`font-family:[^;"]*`)

const letters = "font-family:Liberation Sans,Arial,Helvetica,sans-serif"

func (c Chart) standaloneSVG() ([]byte, error) {
	s, err := c.rawSVG(true)
	return []byte(families.ReplaceAllString(s, letters)), err
}

// svg is the element for a page: its size and text color are those of the page.
func (c Chart) svg() (string, error) {
	s, err := c.rawSVG(false)
	if err != nil {
		return "", err
	}
	s = s[strings.Index(s, "<svg"):]
	s = s[strings.IndexByte(s, '>')+1:]
	s = families.ReplaceAllString(s, letters)
	s = strings.ReplaceAll(s, "#000000", "currentColor")
	w, h := c.size()
	open := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 %.5g %.5g" role="img" aria-label="%s" fill="currentColor">`,
		w.Points(), h.Points(), html.EscapeString(c.label()))
	return open + s, nil
}

func (c Chart) png() ([]byte, error) {
	w, h := c.size()
	canvas := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(144), vgimg.UseBackgroundColor(pageColor))
	if err := c.draw(draw.New(canvas), true); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(&b)
	return b.Bytes(), err
}
