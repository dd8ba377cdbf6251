package render

import (
	"fmt"
	"strconv"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// verbatim is a print that is a text as it is, wherever it is printed.
type verbatim string

// most bytes that prints of these types take.
const (
	widestInt  = 20
	widestBool = 5
)

// printValue prints like text/template. What that would print of values that are not JSON, it does not know.
func (r *run) printValue(v any) bool {
	switch value := v.(type) {
	case nil:
		return r.printText("<no value>")
	case string:
		if value == "" {
			return r.print(v, 0, 0)
		}
		return r.print(v, len(value), 1)
	case bool:
		return r.print(v, widestBool, 1)
	case int64, int:
		return r.print(v, widestInt, 1)
	case float64, []any, map[string]any:
		return r.printText(fmt.Sprint(v))
	}
	return false
}

// printQuoted prints what Quote returns.
func (r *run) printQuoted(v any) bool {
	s, ok := v.(string)
	if !ok || !object.IsPlain(s) {
		quoted, err := r.quote(v)
		return err == nil && r.printText(quoted)
	}
	return r.print(v, len(s)+len(`""`), 2+float64(len(s))/bytesPerStep)
}

func (r *run) printText(s string) bool { return r.print(verbatim(s), len(s), 1) }

// print keeps what takes at most so many bytes of the text.
func (r *run) print(v any, size int, steps float64) bool {
	r.prints = append(r.prints, v)
	r.size += size
	r.left -= steps
	return r.left >= 0 && r.size <= r.options.Output
}

// write writes what the passages of the route print, and notes where.
func (r *run) write() {
	r.out, r.spans = r.out[:0], r.spans[:0]
	for _, c := range r.route {
		for _, piece := range c.passage.pieces {
			from := len(r.out)
			if piece.isText {
				r.out = append(r.out, piece.text...)
				continue
			}
			r.out = appendPrint(r.out, r.prints[len(r.spans)], piece.quoted)
			r.spans = append(r.spans, extent{from, len(r.out), piece.quoted})
		}
	}
}

// An extent is where a print of the run is in the text.
type extent struct {
	from, to int
	quoted   bool
}

func appendPrint(b []byte, v any, quoted bool) []byte {
	switch v := v.(type) {
	case verbatim:
		return append(b, v...)
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	}
	s, _ := v.(string)
	if !quoted {
		return append(b, s...)
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
