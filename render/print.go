package render

import (
	"fmt"
	"strconv"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// print writes a text as text/template does. An empty text is not written.
func (s *state) print(text string) {
	if text != "" {
		s.out = append(s.out, text...)
		s.printed()
	}
}

// printValue prints a value as text/template does.
func (s *state) printValue(v any) {
	switch v := v.(type) {
	case nil:
		s.print("<no value>")
	case string:
		s.print(v)
	case int64:
		s.out = strconv.AppendInt(s.out, v, 10)
		s.printed()
	case int, bool, float64, []any, []string, []int, map[string]any:
		s.print(fmt.Sprint(v))
	default:
		giveUp() // it may be an error, a Stringer or a pointer
	}
}

// printQuoted prints what Quote returns, without making a string of it first.
func (s *state) printQuoted(v any) {
	text, ok := v.(string)
	if !ok || !object.IsPlain(text) {
		s.print(s.quote(v))
		return
	}
	s.weigh(v, 0)
	s.out = append(s.out, '"')
	s.out = append(s.out, text...)
	s.out = append(s.out, '"')
	s.printed()
}

// printed pays for the written bytes.
func (s *state) printed() {
	s.left--
	if s.left < 0 || len(s.out) > s.options.Output {
		giveUp()
	}
}
