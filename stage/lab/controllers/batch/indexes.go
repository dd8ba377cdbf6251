package batch

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// A span is the completion indexes from first to last.
type span struct{ first, last int64 }

// indexes are completion indexes of an indexed Job: spans in ascending order, which neither overlap
// nor touch. Their memory depends on the number of spans, not on the numbers in a spec or status.
type indexes []span

// String prints them as the status has them, for example 0,2-4,7.
func (s indexes) String() string {
	var parts []string
	for _, p := range s {
		part := strconv.FormatInt(p.first, 10)
		switch last := strconv.FormatInt(p.last, 10); {
		case p.last == p.first+1:
			part += "," + last
		case p.last > p.first:
			part += "-" + last
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

// parseIndexes reads the output of String. It leaves out indexes from a limit on, and parts that it
// cannot read.
func parseIndexes(text string, limit int64) (s indexes) {
	for _, part := range strings.Split(text, ",") {
		from, to, ranged := strings.Cut(part, "-")
		first, err := strconv.ParseInt(from, 10, 64)
		last := first
		if ranged && err == nil {
			last, err = strconv.ParseInt(to, 10, 64)
		}
		if last = min(last, limit-1); err == nil && first <= last {
			s = append(s, span{first, last})
		}
	}
	return s.merged()
}

// with returns the indexes and some more.
func (s indexes) with(more []int64) indexes {
	if len(more) == 0 {
		return s
	}
	s = slices.Clip(s)
	for _, i := range more {
		s = append(s, span{i, i})
	}
	return s.merged()
}

// merged brings spans into order and joins spans that overlap or touch.
func (s indexes) merged() (joined indexes) {
	slices.SortFunc(s, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	for _, p := range s {
		if n := len(joined); n > 0 && p.first <= joined[n-1].last+1 {
			joined[n-1].last = max(joined[n-1].last, p.last)
			continue
		}
		joined = append(joined, p)
	}
	return joined
}

// spanOf returns the span that contains an index. It returns false without such a span.
func (s indexes) spanOf(i int64) (span, bool) {
	at, _ := slices.BinarySearchFunc(s, i, func(p span, i int64) int { return cmp.Compare(p.last, i) })
	if at == len(s) || s[at].first > i {
		return span{}, false
	}
	return s[at], true
}

func (s indexes) has(i int64) bool {
	_, found := s.spanOf(i)
	return found
}

// count returns how many indexes there are.
func (s indexes) count() (n int64) {
	for _, p := range s {
		n += p.last - p.first + 1
	}
	return n
}

// countIn returns how many of the indexes others contain.
func (s indexes) countIn(others indexes) (n int64) {
	for i, j := 0, 0; i < len(s) && j < len(others); {
		n += max(0, min(s[i].last, others[j].last)-max(s[i].first, others[j].first)+1)
		if s[i].last < others[j].last {
			i++
		} else {
			j++
		}
	}
	return n
}
