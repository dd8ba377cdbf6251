package apiserver

import (
	"maps"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// HorizontalPodAutoscalers of autoscaling/v1 are those of v2. v1 shows the CPU that they aim at;
// their other metrics and their behavior, which kube-apiserver shows in annotations, it does not
// show here, and leaves them as they are.
var (
	oldAutoscalers = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler"}
	autoscalers    = schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
)

const (
	targetCPU  = "targetCPUUtilizationPercentage"
	currentCPU = "currentCPUUtilizationPercentage"
)

func autoscalerToV2(given, stored map[string]any) map[string]any {
	out := maps.Clone(given)
	if spec, is := given["spec"].(map[string]any); is {
		old, _, _ := unstructured.NestedMap(stored, "spec")
		out["spec"] = withCPU(spec, old, cpuFields{targetCPU, "metrics", "target"})
		keep(out["spec"].(map[string]any), old, "behavior")
	}
	if status, is := given["status"].(map[string]any); is {
		old, _, _ := unstructured.NestedMap(stored, "status")
		out["status"] = withCPU(status, old, cpuFields{currentCPU, "currentMetrics", "current"})
		keep(out["status"].(map[string]any), old, "conditions")
	}
	return out
}

func autoscalerFromV2(stored map[string]any) map[string]any {
	out := maps.Clone(stored)
	if spec, is := stored["spec"].(map[string]any); is {
		out["spec"] = ofCPU(spec, cpuFields{targetCPU, "metrics", "target"}, "behavior")
	}
	if status, is := stored["status"].(map[string]any); is {
		out["status"] = ofCPU(status, cpuFields{currentCPU, "currentMetrics", "current"}, "conditions")
	}
	return out
}

// cpuFields say where the utilization of CPU is: in a field of v1, and in a list of metrics of v2.
type cpuFields struct{ old, list, value string }

// withCPU returns the fields of v2: the metric of CPU is the one given, the others are those stored.
func withCPU(given, stored map[string]any, at cpuFields) map[string]any {
	out := maps.Clone(given)
	delete(out, at.old)
	var metrics []any
	if percent, is := given[at.old]; is && percent != nil {
		value := map[string]any{"averageUtilization": percent}
		if at.list == "metrics" {
			value["type"] = "Utilization"
		}
		metrics = append(metrics, map[string]any{"type": "Resource", "resource": map[string]any{"name": "cpu", at.value: value}})
	}
	old, _ := stored[at.list].([]any)
	for _, m := range old {
		if _, isCPU := utilization(m, at.value); !isCPU {
			metrics = append(metrics, m)
		}
	}
	if metrics != nil {
		out[at.list] = metrics
	}
	return out
}

// ofCPU returns the fields of v1.
func ofCPU(stored map[string]any, at cpuFields, hidden string) map[string]any {
	out := maps.Clone(stored)
	delete(out, hidden)
	delete(out, at.list)
	metrics, _ := stored[at.list].([]any)
	for _, m := range metrics {
		if percent, isCPU := utilization(m, at.value); isCPU {
			out[at.old] = percent
		}
	}
	return out
}

// utilization returns the percentage of a metric of CPU.
func utilization(metric any, value string) (any, bool) {
	fields, _ := metric.(map[string]any)
	name, _, _ := unstructured.NestedString(fields, "resource", "name")
	percent, found, _ := unstructured.NestedFieldNoCopy(fields, "resource", value, "averageUtilization")
	return percent, found && fields["type"] == "Resource" && name == "cpu"
}

// keep leaves a field as it is stored.
func keep(fields, stored map[string]any, name string) {
	if v, is := stored[name]; is {
		fields[name] = v
	}
}

// laterAutoscaler returns an autoscaler of v1 as one of v2.
func laterAutoscaler(o *autoscalingv1.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
	later := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: o.ObjectMeta}
	old, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(autoscalerToV2(old, nil), later)
	}
	if err != nil {
		panic(err) // it is a Go type of a kind that was read
	}
	return later
}
