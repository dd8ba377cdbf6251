package render

import (
	"fmt"
	"strconv"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// writeValue prints like text/template. What that would print of values that are not JSON, it does not know.
func (r *run) writeValue(v any) bool {
	switch v := v.(type) {
	case nil:
		return r.writeText("<no value>")
	case string:
		return r.writeText(v)
	case bool:
		return r.writeText(strconv.FormatBool(v))
	case int64:
		return r.writeText(strconv.FormatInt(v, 10))
	case int:
		return r.writeText(strconv.Itoa(v))
	case float64, []any, map[string]any:
		return r.writeText(fmt.Sprint(v))
	}
	return false
}

// writeQuoted prints what Quote returns.
func (r *run) writeQuoted(v any) bool {
	s, ok := v.(string)
	if !ok || !object.IsPlain(s) {
		quoted, err := r.quote(v)
		return err == nil && r.writeText(quoted)
	}
	if r.weigh(v, 0) != nil || r.room(len(s)+2) != nil {
		return false
	}
	r.out = append(r.out, '"')
	r.out = append(r.out, s...)
	r.out = append(r.out, '"')
	r.begun.fill(s, len(r.out)-len(s)-2, len(r.out))
	return r.spend(1) == nil
}

// writeText does as Write.
func (r *run) writeText(s string) bool {
	if s == "" {
		return true
	}
	if r.room(len(s)) != nil {
		return false
	}
	r.out = append(r.out, s...)
	return r.spend(1) == nil
}
