package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Quantities are amounts of resources, by name, that print as they were given. The methods do not
// change them.
type Quantities map[string]resource.Quantity

// read reads quantities. One that cannot be read is left out.
func read(m map[string]any) Quantities {
	q := make(Quantities, len(m))
	for name, v := range m {
		if n, err := resource.ParseQuantity(fmt.Sprint(v)); err == nil {
			q[name] = n
		}
	}
	return q
}

// write returns quantities as fields of an object.
func (q Quantities) write() map[string]any {
	m := make(map[string]any, len(q))
	for name, n := range q {
		m[name] = n.String()
	}
	return m
}

// String is how API servers print quantities in errors.
func (q Quantities) String() string {
	parts := make([]string, 0, len(q))
	for _, name := range slices.Sorted(maps.Keys(q)) {
		n := q[name]
		parts = append(parts, name+"="+n.String())
	}
	return strings.Join(parts, ",")
}

func (q Quantities) plus(other Quantities) Quantities {
	sum := maps.Clone(q)
	for name, n := range other {
		total := q[name].DeepCopy()
		total.Add(n)
		sum[name] = total
	}
	return sum
}

// minus subtracts other quantities, but not below 0.
func (q Quantities) minus(other Quantities) Quantities {
	left := Quantities{}
	for name, n := range q {
		n = n.DeepCopy()
		if n.Sub(other[name]); n.Sign() < 0 {
			n = resource.Quantity{Format: n.Format}
		}
		left[name] = n
	}
	return left
}

// raiseTo makes each quantity at least the quantity in other.
func (q Quantities) raiseTo(other Quantities) Quantities {
	most := maps.Clone(q)
	for name, n := range other {
		if old, ok := q[name]; !ok || old.Cmp(n) < 0 {
			most[name] = n
		}
	}
	return most
}

// of returns the quantities of names.
func (q Quantities) of(names []string) Quantities {
	some := Quantities{}
	for _, name := range names {
		if n, ok := q[name]; ok {
			some[name] = n
		}
	}
	return some
}

func (q Quantities) withoutZeros() Quantities {
	some := maps.Clone(q)
	maps.DeleteFunc(some, func(_ string, n resource.Quantity) bool { return n.IsZero() })
	return some
}

// names returns the names, sorted.
func (q Quantities) names() []string { return slices.Sorted(maps.Keys(q)) }

func pieces(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.DecimalSI) }
