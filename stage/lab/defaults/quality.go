package defaults

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// qualityOfService sets the class of a Pod by its CPU and memory: Guaranteed if each container
// requests its limits, BestEffort if no container has a request or a limit.
func qualityOfService(v *memory.Review) error {
	set(v, "status", "qosClass", classOfPod(spec(v)))
	return nil
}

func classOfPod(pod map[string]any) string {
	if own, _ := object.Map(pod, "resources"); len(own) > 0 {
		return classOfAll([]any{map[string]any{"resources": own}})
	}
	containers, _ := object.Slice(pod, "containers")
	inits, _ := object.Slice(pod, "initContainers")
	return classOfAll(append(append([]any(nil), containers...), inits...))
}

func classOfAll(containers []any) string {
	asks, guaranteed := false, true
	for _, c := range containers {
		m, _ := c.(map[string]any)
		for _, name := range []string{"cpu", "memory"} {
			request, limit := amount(m, "requests", name), amount(m, "limits", name)
			asks = asks || !request.IsZero() || !limit.IsZero()
			guaranteed = guaranteed && !limit.IsZero() && limit.Cmp(request) == 0
		}
	}
	switch {
	case !asks:
		return "BestEffort"
	case guaranteed:
		return "Guaranteed"
	}
	return "Burstable"
}

func amount(container map[string]any, kind, name string) resource.Quantity {
	of, _ := object.Map(container, "resources", kind)
	if of[name] == nil {
		return resource.Quantity{}
	}
	q, err := resource.ParseQuantity(fmt.Sprint(of[name]))
	if err != nil {
		return resource.Quantity{}
	}
	return q
}
