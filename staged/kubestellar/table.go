package kubestellar

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/internal/eval"
)

// A table computes the table of a collector from the rows of the destinations.
type table struct {
	*Collector
	mode   Mode
	result control.NamedStatusCombination
	passed int // rows that passed the filter, including those with errors
}

func (c *Collector) table(mode Mode, input []row) control.NamedStatusCombination {
	t := &table{Collector: c, mode: mode, result: control.NamedStatusCombination{ColumnNames: c.columnNames()}}
	if len(c.selects) > 0 {
		t.selectRows(input)
	} else {
		t.aggregate(input)
	}
	if limit := int(c.spec.Limit); mode == Strict && limit > 0 && len(t.result.Rows) > limit {
		t.result.Rows = t.result.Rows[:limit]
	}
	return t.result
}

// pass evaluates the filter for a row. In Upstream mode a row whose filter fails is kept, with the
// error.
func (t *table) pass(r row) (keep bool, err error) {
	if t.filter == nil {
		return true, nil
	}
	v, err := evaluate(t.filter, r)
	if err != nil {
		return t.mode == Upstream, err
	}
	if b, ok := v.Val.(types.Bool); ok {
		return bool(b), nil
	}
	if v.Val == types.NullValue && t.mode == Strict {
		return false, nil
	}
	return t.mode == Upstream, fmt.Errorf("filter expression has type %s but expected bool or null", v.Type().TypeName())
}

func evaluate(p *eval.Program, r row) (eval.Value, error) {
	v, err := p.Eval(r.values)
	if err != nil {
		return v, fmt.Errorf("failed to evaluate expression: %w", err)
	}
	return v, nil
}

func (t *table) selectRows(input []row) {
	for _, r := range input {
		keep, err := t.pass(r)
		if err != nil && t.mode == Strict {
			t.rowError(r, "", err)
		}
		if !keep {
			continue
		}
		var cells []control.Value
		for i := range t.selects {
			cells = append(cells, t.selected(r, t.spec.Select[i].Name, t.selects[t.defining(i)]))
		}
		t.result.Rows = append(t.result.Rows, control.StatusCombinationRow{Columns: cells})
	}
}

// defining returns the column whose expression gives the value of the i-th. In Upstream mode the
// last of several columns of one name defines all of them.
func (t *table) defining(i int) int {
	for j := len(t.spec.Select) - 1; j > i && t.mode == Upstream; j-- {
		if t.spec.Select[j].Name == t.spec.Select[i].Name {
			return j
		}
	}
	return i
}

func (t *table) selected(r row, column string, p *eval.Program) control.Value {
	v, err := evaluate(p, r)
	switch {
	case err == nil:
		return t.mode.value(v)
	case t.mode == Upstream:
		return control.Value{Type: "String", String: new(err.Error())}
	}
	t.rowError(r, column, err)
	return control.Value{Type: "Null"}
}

// rowError reports the error of a row, unless another row has one in the same column.
func (t *table) rowError(r row, column string, err error) {
	known := slices.ContainsFunc(t.result.RowErrors, func(e control.RowError) bool { return e.ColumnName == column })
	if !known {
		wec := control.Destination{ClusterID: r.cluster}
		t.result.RowErrors = append(t.result.RowErrors, control.RowError{WEC: wec, ColumnName: column, Error: err.Error()})
	}
}

// value returns a cell. In Upstream mode everything that is no string, number or bool is an Object,
// and what JSON cannot express is Null.
func (m Mode) value(v eval.Value) control.Value {
	switch x := v.Val.(type) {
	case types.String:
		return control.Value{Type: "String", String: new(string(x))}
	case types.Bool:
		return control.Value{Type: "Bool", Bool: new(bool(x))}
	case types.Int, types.Uint, types.Double:
		return number(x.Value())
	case *types.Type:
		return control.Value{Type: "String", String: new(x.TypeName())}
	}
	if m == Strict {
		return strictValue(v)
	}
	native := v.Value()
	raw, err := json.Marshal(native)
	if _, isMapOfCEL := native.(map[ref.Val]ref.Val); err != nil || isMapOfCEL { // Go 1.27 can write such a map, upstream's Go cannot
		return control.Value{Type: "Null"}
	}
	return control.Value{Type: "Object", Object: &control.JSON{Raw: raw}}
}

func strictValue(v eval.Value) control.Value {
	plain := v.Plain()
	raw, err := json.Marshal(plain)
	if err != nil { // a number that JSON cannot express, such as NaN
		return control.Value{Type: "Null"}
	}
	switch x := plain.(type) {
	case string:
		return control.Value{Type: "String", String: &x}
	case []any:
		return control.Value{Type: "Array", Array: &control.JSON{Raw: raw}}
	case map[string]any:
		return control.Value{Type: "Object", Object: &control.JSON{Raw: raw}}
	}
	return control.Value{Type: "Null"}
}
