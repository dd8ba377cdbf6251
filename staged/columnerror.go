package staged

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/internal/eval"
)

// errorIn returns the first error in the columns that a condition reads; "" without one. Which
// columns a condition reads is guessed from its string literals. It reads the tables that it names;
// if it names none, those with a column that it names; else all tables. Of each table it reads the
// columns that it names, or else all columns.
func errorIn(s *control.CombinedStatus, condition *eval.Program) string {
	var literals []string
	if condition != nil {
		literals = condition.Literals()
	}
	named := func(name string) bool { return slices.Contains(literals, name) }
	hasColumn := func(r control.NamedStatusCombination) bool { return slices.ContainsFunc(r.ColumnNames, named) }
	tables := matchingOrAll(s.Results, func(r control.NamedStatusCombination) bool { return named(r.Name) })
	for _, r := range matchingOrAll(tables, hasColumn) {
		for _, e := range columnErrors(r) {
			if e.column == "" || named(e.column) || !hasColumn(r) {
				return fmt.Sprintf("collector %s: %s: %s", r.Name, cmp.Or(e.column, "filter"), e.text)
			}
		}
	}
	return ""
}

// matchingOrAll returns the elements that match, or all elements if none does.
func matchingOrAll[T any](all []T, matches func(T) bool) []T {
	var some []T
	for _, x := range all {
		if matches(x) {
			some = append(some, x)
		}
	}
	if some == nil {
		return all
	}
	return some
}

// A columnError is an error in a column of a table, or, with column "", in the filter.
type columnError struct{ column, text string }

func columnErrors(r control.NamedStatusCombination) (all []columnError) {
	for _, e := range r.RowErrors {
		all = append(all, columnError{e.ColumnName, e.WEC.ClusterID + ": " + e.Error})
	}
	for _, e := range r.AggregationErrors {
		all = append(all, columnError{e.ColumnName, e.Error})
	}
	return all
}
