package builtin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// podResources completes the resources of a Pod that has its own: it fills in limits of huge pages,
// and requests, which follow from its containers.
func podResources(spec *copied) {
	resources := nested(spec.now(), "resources")
	limits, requests := nested(resources, "limits"), nested(resources, "requests")
	if len(limits)+len(requests) == 0 {
		return
	}
	allLimits := maps.Clone(limits)
	for name, sum := range ofContainers(spec.now(), "limits") {
		if isHugePage(name) && requests[name] == nil && limits[name] == nil {
			allLimits = with(allLimits, map[string]any{name: sum})
		}
	}
	allRequests := requests
	if len(allLimits) > 0 {
		for name, sum := range ofContainers(spec.now(), "requests") {
			if name == "cpu" || name == "memory" {
				allRequests = with(allRequests, map[string]any{name: sum})
			}
		}
		allRequests = with(allRequests, ofPods(allLimits))
	}
	if len(allLimits) == len(limits) && len(allRequests) == len(requests) {
		return
	}
	resources = maps.Clone(resources)
	if len(allLimits) > 0 {
		resources["limits"] = allLimits
	}
	if len(allRequests) > 0 {
		resources["requests"] = allRequests
	}
	spec.set("resources", resources)
}

func isHugePage(name string) bool { return strings.HasPrefix(name, "hugepages-") }

// ofPods are the resources that a Pod can have itself.
func ofPods(all map[string]any) map[string]any {
	own := map[string]any{}
	for name, v := range all {
		if name == "cpu" || name == "memory" || isHugePage(name) {
			own[name] = v
		}
	}
	return own
}

// ofContainers returns what the containers of a Pod ask for together. If an init container,
// together with the sidecars that run at the same time, asks for more, it returns that.
func ofContainers(spec map[string]any, kind string) map[string]any {
	total, sidecars, most := amounts{}, amounts{}, amounts{}
	containers, _ := spec["containers"].([]any)
	for _, v := range containers {
		total.add(amountsOf(v, kind))
	}
	inits, _ := spec["initContainers"].([]any)
	for _, v := range inits {
		asked := amountsOf(v, kind)
		if m, _ := v.(map[string]any); m["restartPolicy"] == "Always" {
			total.add(asked)
			sidecars.add(asked)
			asked = sidecars
		} else {
			asked.add(sidecars)
		}
		most.max(asked)
	}
	total.max(most)
	return total.texts()
}

type amounts map[string]resource.Quantity

func amountsOf(container any, kind string) amounts {
	m, _ := container.(map[string]any)
	all := amounts{}
	for name, v := range nested(m, "resources", kind) {
		if q, err := resource.ParseQuantity(fmt.Sprint(v)); err == nil {
			all[name] = q
		}
	}
	return all
}

func (a amounts) add(more amounts) {
	for name, q := range more {
		sum := a[name].DeepCopy()
		sum.Add(q)
		a[name] = sum
	}
}

func (a amounts) max(other amounts) {
	for name, q := range other {
		if has, is := a[name]; !is || has.Cmp(q) < 0 {
			a[name] = q.DeepCopy()
		}
	}
}

func (a amounts) texts() map[string]any {
	all := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		q := a[name]
		all[name] = q.String()
	}
	return all
}
