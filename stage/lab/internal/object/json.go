package object

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// AppendJSON appends v, a JSON value, to b exactly as [json.Marshal] writes it: with sorted keys
// and escaped <, > and &. Values of other types are left to json.Marshal; the error is its.
//
// It is here because writing a patch took as long as rendering it: json.Marshal reflects on every
// value and boxes every key.
func AppendJSON(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case string:
		return appendText(b, v)
	case map[string]any:
		return appendMap(b, v)
	case []any:
		return appendList(b, v)
	default:
		return appendOther(b, v)
	}
}

func appendMap(b []byte, m map[string]any) (_ []byte, err error) {
	if m == nil {
		return append(b, "null"...), nil
	}
	var few [16]entry // most objects have no more, and then need no allocation
	entries := few[:0]
	for k, v := range m {
		entries = append(entries, entry{k, v})
	}
	sortEntries(entries)
	b = append(b, '{')
	for i, e := range entries {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendText(b, e.key); err != nil {
			return b, err
		}
		if b, err = AppendJSON(append(b, ':'), e.value); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

type entry struct {
	key   string
	value any
}

// sortEntries sorts the few fields of most objects in place: the general sort takes twice as long
// for them.
func sortEntries(entries []entry) {
	if len(entries) > 16 {
		slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
		return
	}
	for i := 1; i < len(entries); i++ {
		e, at := entries[i], i
		for ; at > 0 && less(e.key, entries[at-1].key); at-- {
			entries[at] = entries[at-1]
		}
		entries[at] = e
	}
}

// less compares the first bytes by itself, because keys mostly differ in them.
func less(a, b string) bool {
	if a != "" && b != "" && a[0] != b[0] {
		return a[0] < b[0]
	}
	return a < b
}

func appendList(b []byte, list []any) (_ []byte, err error) {
	if list == nil {
		return append(b, "null"...), nil
	}
	b = append(b, '[')
	for i, item := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = AppendJSON(b, item); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

// appendText escapes quotes and ends of lines itself, because many keys of managedFields have quotes.
func appendText(b []byte, s string) ([]byte, error) {
	start, from := len(b), 0
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case plain[c]:
		case c == '"' || c == '\\':
			b = append(append(b, s[from:i]...), '\\', c)
			from = i + 1
		case c == '\n':
			b = append(append(b, s[from:i]...), '\\', 'n')
			from = i + 1
		default:
			return appendOther(b[:start], s)
		}
	}
	b = append(b, s[from:]...)
	return append(b, '"'), nil
}

var plain = func() (table [256]bool) {
	for c := ' '; c <= '~'; c++ {
		table[c] = !strings.ContainsRune(`"\<>&`, c)
	}
	return table
}()

func appendOther(b []byte, v any) ([]byte, error) {
	data, err := json.Marshal(v)
	return append(b, data...), err
}

// Readable returns a JSON value as readable JSON on one line: <, > and & stay as they are. For a
// value that is not JSON, it returns the error, in quotes.
func Readable(v any) string {
	var b strings.Builder
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	if err := out.Encode(v); err != nil {
		return strconv.Quote(err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}
