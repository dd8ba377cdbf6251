package validation

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func replicaBounds(f fieldOf) {
	least, hasLeast := f.within["minReplicas"].(int64)
	most, _ := f.within["maxReplicas"].(int64)
	if hasLeast && least < 1 {
		f.add(field.Invalid(f.path().Child("minReplicas"), least, "must be greater than or equal to 1"))
	}
	if hasLeast && least == 0 && !hasOutsideMetric(f.within) {
		f.add(field.Forbidden(f.path().Child("metrics"), "must specify at least one Object or External metric to support scaling to zero replicas"))
	}
	switch {
	case most == 0:
		f.add(field.Required(f.path().Child("maxReplicas"), "must be set and greater than 0"))
	case most < 1:
		f.add(field.Invalid(f.path().Child("maxReplicas"), most, "must be greater than or equal to 1"))
	}
	if hasLeast && most < least {
		f.add(field.Invalid(f.path().Child("maxReplicas"), most, "must be greater than or equal to `minReplicas`"))
	}
}

func targetVersion(f fieldOf) {
	m, _ := f.value.(map[string]any)
	version := text(m["apiVersion"])
	isGrouped := false
	for i := range version {
		isGrouped = isGrouped || version[i] == '/'
	}
	if version != "v1" && !isGrouped {
		f.add(field.Invalid(f.path().Child("apiVersion"), version, "apiVersion must specify API group"))
	}
}

// metricSources are the fields of a metric, by its type.
var metricSources = map[string]string{"ContainerResource": "containerResource", "External": "external", "Object": "object", "Pods": "pods", "Resource": "resource"}

var (
	metric = rules{
		of("type", requiredFor("must specify a metric source type"), mustBe("ContainerResource", "External", "Object", "Pods", "Resource")),
		of("", sourceOfMetric),
		given("resource", in(rules{of("name", requiredFor("must specify a resource name")), of("target", metricTarget, resourceTarget)})),
		given("pods", in(rules{of("metric", metricName), of("target", metricTarget, averageTarget)})),
		given("object", in(rules{of("metric", metricName), of("target", metricTarget)})),
		given("external", in(rules{of("metric", metricName), of("target", metricTarget)})),
	}
)

func sourceOfMetric(f fieldOf) {
	name := metricSources[text(f.within["type"])]
	if name != "" && f.within[name] == nil {
		f.add(field.Required(f.path().Child(name), "must populate information for the given metric source"))
	}
	for _, other := range sortedKeys(f.within) {
		if other != "type" && name != "" && other != name {
			f.add(field.Forbidden(f.path().Child(other), "must populate the given metric source only"))
		}
	}
}

func metricName(f fieldOf) {
	m, _ := f.value.(map[string]any)
	if text(m["name"]) == "" {
		f.add(field.Required(f.path().Child("name"), "must specify a metric name"))
	}
}

func metricTarget(f fieldOf) {
	m, _ := f.value.(map[string]any)
	switch kind := text(m["type"]); kind {
	case "":
		f.add(field.Required(f.path().Child("type"), "must specify a metric target type"))
		f.add(field.Invalid(f.path().Child("type"), kind, "must be either Utilization, Value, or AverageValue"))
	case "Utilization", "Value", "AverageValue":
	default:
		f.add(field.Invalid(f.path().Child("type"), kind, "must be either Utilization, Value, or AverageValue"))
	}
	for _, name := range []string{"value", "averageValue"} {
		if q, ok := quantity(m[name]); ok && q.Sign() <= 0 {
			f.add(field.Invalid(f.path().Child(name), q.String(), "must be positive"))
		}
	}
	if n, said := m["averageUtilization"].(int64); said && n < 1 {
		f.add(field.Invalid(f.path().Child("averageUtilization"), n, "must be greater than 0"))
	}
}

func resourceTarget(f fieldOf) {
	m, _ := f.value.(map[string]any)
	switch {
	case m["averageUtilization"] == nil && m["averageValue"] == nil:
		f.add(field.Required(f.path().Child("averageUtilization"), "must set either a target raw value or a target utilization"))
	case m["averageUtilization"] != nil && m["averageValue"] != nil:
		f.add(field.Forbidden(f.path().Child("averageValue"), "may not set both a target raw value and a target utilization"))
	}
}

func averageTarget(f fieldOf) {
	m, _ := f.value.(map[string]any)
	if q, ok := quantity(m["averageValue"]); !ok || q.IsZero() {
		f.add(field.Required(f.path().Child("averageValue"), "must specify a positive target averageValue"))
	}
}

func oneOfShares(f fieldOf) {
	if f.within["minAvailable"] != nil && f.within["maxUnavailable"] != nil {
		f.add(field.Invalid(f.path(), fmt.Sprint(f.within), "minAvailable and maxUnavailable cannot be both set"))
	}
}

func hasOutsideMetric(spec map[string]any) bool {
	isOutside := func(v any) bool {
		m, _ := v.(map[string]any)
		return m["type"] == "Object" || m["type"] == "External"
	}
	return slices.ContainsFunc(list(spec["metrics"]), isOutside)
}
