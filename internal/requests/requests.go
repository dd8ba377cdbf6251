// Package requests adds up the resources that Pods ask for.
//
// # Concurrency
//
// The functions are safe for concurrent use; they read what they are given and change nothing of it.
package requests

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// Amounts are resources by name: CPU in thousandths, the others in their unit.
type Amounts map[string]int64

// Add adds other amounts, sign times.
func (a Amounts) Add(other Amounts, sign int64) {
	for name, n := range other {
		a[name] += sign * n
	}
}

// most makes each amount at least that of other.
func (a Amounts) most(other Amounts) {
	for name, n := range other {
		a[name] = max(a[name], n)
	}
}

// Read reads quantities by name. One that cannot be read counts as nothing.
func Read(m map[string]any) Amounts {
	a := make(Amounts, len(m))
	for name := range m {
		q, err := resource.ParseQuantity(Text(m[name]))
		switch {
		case err != nil:
		case name == "cpu":
			a[name] = q.MilliValue()
		default:
			a[name] = q.Value()
		}
	}
	return a
}

// Text is a quantity as text: YAML makes numbers of those that look like numbers.
func Text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return fmt.Sprint(v)
}

// Of is what a Pod needs: the sum of its containers, or what an init container needs if that is more, beside the sidecars that were started
// before it; without those of which it needs 0.
func Of(pod map[string]any) Amounts {
	spec, _ := object.Map(pod, "spec")
	sum, first, sidecars := Amounts{}, Amounts{}, Amounts{}
	for _, c := range containers(spec, "initContainers") {
		need := ofContainer(c)
		if policy, _ := object.String(c, "restartPolicy"); policy == "Always" {
			sidecars.Add(need, 1)
			first.most(sidecars)
			continue
		}
		need.Add(sidecars, 1)
		first.most(need)
	}
	for _, c := range containers(spec, "containers") {
		sum.Add(ofContainer(c), 1)
	}
	sum.Add(sidecars, 1)
	sum.most(first)
	overhead, _ := object.Map(spec, "overhead")
	sum.Add(Read(overhead), 1)
	maps.DeleteFunc(sum, func(_ string, n int64) bool { return n == 0 })
	return sum
}

func containers(spec map[string]any, field string) (found []map[string]any) {
	list, _ := object.Slice(spec, field)
	for _, v := range list {
		if c, ok := object.ToMap(v); ok {
			found = append(found, c)
		}
	}
	return found
}

// ofContainer are its requests, and its limits where it says no more.
func ofContainer(c map[string]any) Amounts {
	limits, _ := object.Map(c, "resources", "limits")
	requests, _ := object.Map(c, "resources", "requests")
	a := Read(limits)
	maps.Copy(a, Read(requests))
	return a
}
