package kubestellar

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/internal/eval"
)

// A group is the rows with equal keys.
type group struct {
	keys     []control.Value
	rows     int
	subjects [][]subject // by combined field
}

// A subject is the value of a combined field's expression for one row.
type subject struct {
	cluster string
	value   eval.Value
}

// aggregate makes one row of each group. Rows with an error are in no group. Without groupBy and
// without any row there is still one, empty, group; if all rows have errors there is no group.
func (t *table) aggregate(input []row) {
	var groups []*group
	byKey := map[string]*group{}
	for _, r := range input {
		key, member, ok := t.member(r)
		if !ok {
			continue
		}
		g := byKey[key]
		if g == nil {
			g = &group{keys: member.keys, subjects: make([][]subject, len(t.fields))}
			byKey[key] = g
			groups = append(groups, g)
		}
		g.rows++
		for i := range t.fields {
			g.subjects[i] = append(g.subjects[i], member.subjects[i]...)
		}
	}
	if t.passed == 0 && len(t.keys) == 0 {
		groups = append(groups, &group{subjects: make([][]subject, len(t.fields))})
	}
	for _, g := range groups {
		t.result.Rows = append(t.result.Rows, control.StatusCombinationRow{Columns: t.combined(g)})
	}
}

// member evaluates a row: it returns the key of its group, and a group with this row alone. It is
// false if the row is dropped or has an error.
func (t *table) member(r row) (key string, g group, ok bool) {
	keep, err := t.pass(r)
	if err != nil {
		t.rowError(r, "", err)
	}
	if !keep {
		return "", g, false
	}
	t.passed++
	ok = err == nil
	check := func(column string, err error) {
		if err != nil {
			t.rowError(r, column, err)
			ok = false
		}
	}
	var keys strings.Builder
	for i, p := range t.keys {
		v, err := evaluate(p, r)
		var text string
		if err == nil {
			text, err = t.mode.key(v)
		}
		check(t.spec.GroupBy[i].Name, err)
		if err == nil {
			fmt.Fprintf(&keys, "%d:%s", len(text), text)
			g.keys = append(g.keys, t.mode.value(v))
		}
	}
	g.subjects = make([][]subject, len(t.fields))
	for i, p := range t.fields {
		if p != nil {
			v, err := evaluate(p, r)
			check(t.spec.CombinedFields[i].Name, err)
			g.subjects[i] = []subject{{r.cluster, v}}
		}
	}
	return keys.String(), g, ok
}

// key returns a text that is equal for values of one group. KubeStellar's keys are Go values, so in
// Upstream mode 1 and 1.0 differ.
func (m Mode) key(v eval.Value) (string, error) {
	_, isList := v.Val.(traits.Lister)
	_, isMap := v.Val.(traits.Mapper)
	if m == Upstream {
		if isList || isMap {
			return "", errors.New("a list or map cannot be a key of groupBy")
		}
		return fmt.Sprintf("%T %v", v.Value(), v.Value()), nil
	}
	raw, err := json.Marshal(v.Plain())
	return string(raw), err
}

func (t *table) combined(g *group) []control.Value {
	cells := append([]control.Value{}, g.keys...)
	for i, f := range t.spec.CombinedFields {
		if f.Type == "COUNT" {
			cells = append(cells, number(int64(g.rows)))
			continue
		}
		a, known := aggregators[f.Type]
		if !known {
			t.aggregationError(f.Name, fmt.Errorf("unsupported aggregation type %s", f.Type))
			cells = append(cells, control.Value{Type: "Null"})
			continue
		}
		cells = append(cells, number(t.fold(f.Name, a, g.subjects[i])))
	}
	return cells
}

// An aggregator combines numbers to one.
type aggregator struct {
	start float64
	fold  func(a, b float64) float64
	// skips leaves out a value that is no number. Otherwise it counts as 0.
	skips bool
	mean  bool
}

var aggregators = map[string]aggregator{
	"SUM": {fold: add},
	"AVG": {fold: add, mean: true},
	"MIN": {start: math.Inf(1), fold: math.Min, skips: true},
	"MAX": {start: math.Inf(-1), fold: math.Max, skips: true},
}

func add(a, b float64) float64 { return a + b }

func (t *table) fold(column string, a aggregator, subjects []subject) float64 {
	total := a.start
	for _, s := range subjects {
		n, err := s.number()
		if err != nil {
			t.aggregationError(column, err)
		}
		if err == nil || !a.skips {
			total = a.fold(total, n)
		}
	}
	if !a.mean {
		return total
	}
	if len(subjects) == 0 {
		t.aggregationError(column, errors.New("no values to average"))
		return math.NaN()
	}
	return total / float64(len(subjects))
}

// number returns the number of a subject. A string of digits is a number.
func (s subject) number() (float64, error) {
	switch x := s.value.Val.(type) {
	case types.Int:
		return float64(x), nil
	case types.Uint:
		return float64(x), nil
	case types.Double:
		return float64(x), nil
	case types.String:
		f, err := strconv.ParseFloat(string(x), 64)
		if err != nil {
			return 0, fmt.Errorf("for WEC %s, failed to parse combinedField subject as a float: %w", s.cluster, err)
		}
		return f, nil
	}
	return 0, fmt.Errorf("for WEC %s, combinedField subject has unexpected type %s", s.cluster, s.value.Type().TypeName())
}

func (t *table) aggregationError(column string, err error) {
	for _, e := range t.result.AggregationErrors {
		if e.ColumnName == column {
			return
		}
	}
	t.result.AggregationErrors = append(t.result.AggregationErrors, control.AggregationError{ColumnName: column, Error: err.Error()})
}

// number returns a Number cell: the shortest decimal text that keeps the value.
func number(v any) control.Value {
	text := fmt.Sprint(v)
	if f, ok := v.(float64); ok {
		text = strconv.FormatFloat(f, 'g', -1, 64)
	}
	return control.Value{Type: "Number", Number: &text}
}
