package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

// usageOfPod returns the use of a Pod. A Pod that has ended uses nothing.
func usageOfPod(pod map[string]any) Quantities {
	if phase := fields.String(pod, "status", "phase"); phase == "Succeeded" || phase == "Failed" {
		return nil
	}
	spec := fields.Map(pod, "spec")
	used := named(PodRequests(spec), PodLimits(spec))
	used["pods"] = pieces(1)
	return used
}

// named returns requests and limits by the names that they have in quotas.
func named(requests, limits Quantities) Quantities {
	used := Quantities{}
	for name, n := range requests {
		if isBasic(name) || strings.HasPrefix(name, "hugepages-") {
			used[name] = n
		}
		used["requests."+name] = n
	}
	for name, n := range limits {
		if isBasic(name) {
			used["limits."+name] = n
		}
	}
	return used
}

func isBasic(name string) bool {
	return name == "cpu" || name == "memory" || name == "ephemeral-storage"
}

// Requests returns the requests of a container. A resource with only a limit has the limit as its
// request.
func Requests(container map[string]any) Quantities {
	requests := Limits(container)
	maps.Copy(requests, read(fields.Map(container, "resources", "requests")))
	return requests
}

// Limits returns the limits of a container.
func Limits(container map[string]any) Quantities {
	return read(fields.Map(container, "resources", "limits"))
}

// PodRequests returns the requests of a Pod with this spec: the sum of its containers, or more if
// an init container asks for more, or the values of spec.resources; plus spec.overhead.
func PodRequests(spec map[string]any) Quantities {
	sum := sumOf(spec, Requests)
	maps.Copy(sum, Requests(spec).of(wholePod(spec, "requests")))
	return sum.plus(read(fields.Map(spec, "overhead")))
}

// PodLimits is PodRequests for limits. The overhead counts for resources with a limit.
func PodLimits(spec map[string]any) Quantities {
	sum := sumOf(spec, Limits)
	maps.Copy(sum, Limits(spec).of(wholePod(spec, "limits")))
	return sum.plus(read(fields.Map(spec, "overhead")).of(sum.names()))
}

// wholePod returns the resources that a Pod asks for as a whole.
func wholePod(spec map[string]any, field string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(fields.Map(spec, "resources", field))) {
		if name == "cpu" || name == "memory" || strings.HasPrefix(name, "hugepages-") {
			names = append(names, name)
		}
	}
	return names
}

func sumOf(spec map[string]any, of func(map[string]any) Quantities) Quantities {
	sum, sidecars, first := Quantities{}, Quantities{}, Quantities{}
	for _, c := range fields.Maps(spec, "containers") {
		sum = sum.plus(of(c))
	}
	for _, c := range fields.Maps(spec, "initContainers") {
		running := sidecars.plus(of(c))
		if fields.String(c, "restartPolicy") == "Always" {
			sum, sidecars = sum.plus(of(c)), running
		}
		first = first.raiseTo(running)
	}
	return sum.raiseTo(first)
}

// required are the names in quotas that each container has to say something about.
var required = []string{"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}

// unsaid returns the resources that the containers of a Pod must set because a quota names them, or
// "".
func unsaid(pod map[string]any, names []string) string {
	spec := fields.Map(pod, "spec")
	if len(fields.Map(spec, "resources", "requests"))+len(fields.Map(spec, "resources", "limits")) > 0 {
		return ""
	}
	var missing []string
	for _, name := range names {
		if !slices.Contains(required, name) {
			continue
		}
		var silent []string
		for _, c := range slices.Concat(fields.Maps(spec, "containers"), fields.Maps(spec, "initContainers")) {
			if _, said := named(Requests(c), Limits(c))[name]; !said {
				silent = append(silent, fields.String(c, "name"))
			}
		}
		if slices.Sort(silent); len(silent) > 0 {
			missing = append(missing, fmt.Sprintf("%s for: %s", name, strings.Join(slices.Compact(silent), ",")))
		}
	}
	return strings.Join(missing, "; ")
}
