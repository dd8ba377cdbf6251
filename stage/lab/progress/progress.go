// Package progress shows the progress of a program on one line of a terminal.
//
// # Usage
//
//	line := progress.New(os.Stderr)
//	for … {
//		if now := time.Now(); line.Due(now) {
//			line.Show(now, progress.Bar(done, all)+" runs")
//		}
//	}
//	line.End()
//
// # Concurrency
//
// A Line must not be used from several goroutines at once.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

// A Line is a line on a terminal that each write replaces. The zero value writes nothing.
type Line struct {
	out   io.Writer
	last  time.Time
	width int // of the current text
}

// New returns a Line that writes to w if it is a terminal, and nothing otherwise.
func New(w io.Writer) *Line {
	f, ok := w.(*os.File)
	if !ok {
		return &Line{}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return &Line{}
	}
	return To(w)
}

// To returns a Line that writes to any w.
func To(w io.Writer) *Line { return &Line{out: w} }

// refresh is how often the line is written.
const refresh = 100 * time.Millisecond

// Due reports whether the line is written at all, and was last written a tenth of a second ago or
// more. Ask before making the text: most times it is not needed.
func (l *Line) Due(now time.Time) bool { return l.out != nil && now.Sub(l.last) >= refresh }

// Show overwrites the line. The text must not contain a line break.
func (l *Line) Show(now time.Time, text string) {
	if l.out == nil {
		return
	}
	l.last = now
	width := utf8.RuneCountInString(text)
	fmt.Fprintf(l.out, "\r%s%s", text, strings.Repeat(" ", max(0, l.width-width)))
	l.width = width
}

// End clears the line.
func (l *Line) End() {
	if l.out != nil && l.width > 0 {
		fmt.Fprintf(l.out, "\r%s\r", strings.Repeat(" ", l.width))
		l.width = 0
	}
}

// barWidth is the number of characters inside a bar.
const barWidth = 24

// Bar draws "[====== ] 25/100". If more than all is done, the bar is full. If all is below 1, it
// counts as 1.
func Bar(done, all int) string {
	filled := barWidth * min(max(done, 0), max(all, 1)) / max(all, 1)
	return fmt.Sprintf("[%s%s] %d/%d", strings.Repeat("=", filled), strings.Repeat(" ", barWidth-filled), done, all)
}
