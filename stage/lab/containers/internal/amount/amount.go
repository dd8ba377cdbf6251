// Package amount converts amounts of resources to numbers.
package amount

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Float returns the number that is nearest to an amount. resource.Quantity.AsApproximateFloat64 can be
// off in the last bit: it returns 0.19999999999999998 for 200000u.
func Float(q resource.Quantity) float64 {
	if n, is := q.AsInt64(); is {
		return float64(n)
	}
	n, err := strconv.ParseFloat(q.AsDec().String(), 64)
	if err != nil {
		return q.AsApproximateFloat64() // out of the range of a float64
	}
	return n
}
