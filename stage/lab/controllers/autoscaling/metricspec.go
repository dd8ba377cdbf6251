package autoscaling

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

// defaultMetrics is spec.metrics of an autoscaler without metrics.
var defaultMetrics = []map[string]any{{
	"type": "Resource", "resource": map[string]any{"name": "cpu", "target": map[string]any{"type": "Utilization", "averageUtilization": int64(80)}},
}}

// computeMetrics returns the number of replicas for the metric that wants most, and its name. If
// one metric fails, the replicas may only grow.
func (a *autoscaler) computeMetrics() (replicas int64, metric string, err error) {
	if err := a.findPods(); err != nil {
		return 0, "", a.failed(err)
	}
	specs := fields.Maps(a.spec, "metrics")
	if len(specs) == 0 {
		specs = defaultMetrics
	}
	a.statuses = make([]any, len(specs))
	var invalid int
	var first *metricError
	for i, spec := range specs {
		a.statuses[i] = map[string]any{"type": ""}
		p, status, err := a.compute(spec)
		if err != nil {
			a.warn(err.reason, err.cause.Error())
			if invalid++; first == nil {
				first = err
			}
			continue
		}
		a.statuses[i] = status
		if replicas == 0 || p.replicas > replicas {
			replicas, metric = p.replicas, p.name
		}
	}
	if invalid == len(specs) || invalid > 0 && replicas < a.scale.spec {
		a.setCondition("ScalingActive", "False", first.reason, "the HPA was unable to compute the replica count: "+first.cause.Error())
		return 0, "", a.failed(fmt.Errorf("invalid metrics (%v invalid out of %v), first error is: %v", invalid, len(specs), first.error))
	}
	a.setCondition("ScalingActive", "True", "ValidMetricFound", "the HPA was able to successfully calculate a replica count from "+metric)
	return replicas, metric, nil
}

// failed records that no number of replicas could be computed.
func (a *autoscaler) failed(err error) error {
	a.warn("FailedComputeMetricsReplicas", err.Error())
	return err
}

// A metricError says why a metric cannot be computed.
type metricError struct {
	error         // as in the Event about all metrics
	cause  error  // as in the condition and its Event
	reason string // of them
}

// A metricSpec is an entry of spec.metrics.
type metricSpec struct {
	kind   string         // type
	source map[string]any // the field of that type
	target map[string]any
	name   string // of the resource or metric
}

// sourceFields are the fields of spec.metrics by type.
var sourceFields = map[string]string{
	"Resource": "resource", "ContainerResource": "containerResource", "Pods": "pods", "Object": "object", "External": "external",
}

func readMetric(m map[string]any) metricSpec {
	s := metricSpec{kind: fields.String(m, "type")}
	s.source = fields.Map(m, sourceFields[s.kind])
	s.target = fields.Map(s.source, "target")
	if s.name = fields.String(s.source, "name"); s.name == "" {
		s.name = fields.String(s.source, "metric", "name")
	}
	return s
}

// compute returns the replicas for one metric, and its status.
func (a *autoscaler) compute(m map[string]any) (p proposal, status map[string]any, failed *metricError) {
	s := readMetric(m)
	var err, cause error
	of := s.kind
	a.container = ""
	switch s.kind {
	case "Resource", "ContainerResource":
		of = s.name + " resource metric"
		if s.kind == "ContainerResource" {
			a.container = fields.String(s.source, "container")
			of = a.container + " container metric"
		}
		p, err = a.computeResource(s)
	case "Pods":
		of = "pods metric"
		p, err = a.computePods(s)
	case "Object":
		of = "object metric"
		p, err, cause = a.computeObject(s)
	case "External":
		of = s.name + " external metric"
		p, err, cause = a.computeExternal(s)
	default:
		err = fmt.Errorf("unknown metric source type %q", s.kind)
		return p, nil, &metricError{err, err, "InvalidMetricSourceType"}
	}
	if err != nil {
		if cause == nil {
			cause = err
		}
		return p, nil, &metricError{fmt.Errorf("failed to get %s value: %w", of, err), cause, "FailedGet" + s.kind + "Metric"}
	}
	return p, a.metricStatus(s, p.current), nil
}

// metricStatus returns an entry of status.currentMetrics.
func (a *autoscaler) metricStatus(s metricSpec, current map[string]any) map[string]any {
	status := map[string]any{"current": current}
	switch s.kind {
	case "Resource":
		status["name"] = s.name
	case "ContainerResource":
		status["name"], status["container"] = s.name, a.container
	default:
		status["metric"] = fields.Value(s.source, "metric")
	}
	if s.kind == "Object" {
		status["describedObject"] = fields.Value(s.source, "describedObject")
	}
	return map[string]any{"type": s.kind, sourceFields[s.kind]: status}
}

func (a *autoscaler) computeResource(s metricSpec) (p proposal, err error) {
	u := usage{tolerance: a.behavior.tolerance()}
	percentOf := " resource utilization (percentage of request)"
	if s.kind == "ContainerResource" {
		percentOf = " container" + percentOf
	}
	average, isAverage, err := milli(s.target, "averageValue")
	verb := "usage"
	switch {
	case err != nil:
		return p, err
	case isAverage:
		u.target, p.name = average, s.name+" resource"
	case fields.Value(s.target, "averageUtilization") == nil:
		return p, errors.New("invalid resource metric source: neither an average utilization target nor an average value (usage) target was set")
	default:
		u.target, u.requests, p.name = fields.Int64(s.target, 0, "averageUtilization"), map[string]int64{}, s.name+percentOf
		verb = "utilization"
	}
	of, err := a.askPods(Query{Type: s.kind, Name: s.name, Container: a.container})
	if err != nil {
		return p, fmt.Errorf("failed to get %s %s: unable to get metrics for resource %s: %w", s.name, verb, s.name, err)
	}
	replicas, percent, mean, err := a.replicasFor(of, s.name, u)
	if err != nil {
		return p, fmt.Errorf("failed to get %s %s: %w", s.name, verb, err)
	}
	p.replicas, p.current = replicas, map[string]any{"averageValue": formatMilli(mean, s.name == "memory")}
	if u.requests != nil {
		p.current["averageUtilization"] = percent
	}
	return p, nil
}

func (a *autoscaler) computePods(s metricSpec) (p proposal, err error) {
	selector, err := metricSelector(s)
	if err != nil {
		return p, err
	}
	target, _, err := milli(s.target, "averageValue")
	if err != nil {
		return p, err
	}
	of, err := a.askPods(Query{Type: s.kind, Name: s.name, Selector: selector})
	if err != nil {
		return p, fmt.Errorf("unable to get metric %s: %w", s.name, err)
	}
	replicas, _, mean, err := a.replicasFor(of, "", usage{target: target, tolerance: a.behavior.tolerance()})
	return proposal{replicas, "pods metric " + s.name, map[string]any{"averageValue": formatMilli(mean, false)}}, err
}

// computeObject computes an Object metric. If it fails, it also returns the error without the text
// that is added for Events.
func (a *autoscaler) computeObject(s metricSpec) (p proposal, err, cause error) {
	selector, err := metricSelector(s)
	if err != nil {
		return p, err, nil
	}
	value, isValue, errValue := milli(s.target, "value")
	average, isAverage, errAverage := milli(s.target, "averageValue")
	kind := fields.String(s.target, "type")
	isValue, isAverage = isValue && kind == "Value", isAverage && kind == "AverageValue"
	if err := errors.Join(errValue, errAverage); err != nil || !isValue && !isAverage {
		return p, errors.Join(err, errors.New("invalid object metric source: neither a value target nor an average value target was set")), nil
	}
	described := fields.Map(s.source, "describedObject")
	sum, err := a.askSum(Query{Type: s.kind, Name: s.name, Selector: selector, Object: described})
	if err != nil {
		// This is the order that kube-controller-manager has.
		err = fmt.Errorf("unable to get metric %s: %s on %s %s/%w", s.name, fields.String(described, "kind"), a.Name.Namespace, fields.String(described, "name"), err)
		if isAverage {
			return p, fmt.Errorf("failed to get %s object metric: %w", s.name, err), err
		}
		return p, err, nil
	}
	if isAverage {
		replicas, share := a.replicasForShares(sum, average, a.behavior.tolerance())
		return proposal{replicas, externalName(s), map[string]any{"averageValue": formatMilli(share, false)}}, nil, nil
	}
	p.replicas, err = a.replicasForRatio(float64(sum)/float64(value), a.behavior.tolerance())
	p.name, p.current = fields.String(described, "kind")+" metric "+s.name, map[string]any{"value": formatMilli(sum, false)}
	return p, err, nil
}

func (a *autoscaler) computeExternal(s metricSpec) (p proposal, err, cause error) {
	value, isValue, errValue := milli(s.target, "value")
	average, isAverage, errAverage := milli(s.target, "averageValue")
	if err := errors.Join(errValue, errAverage); err != nil || !isValue && !isAverage {
		return p, errors.Join(err, errors.New("invalid external metric source: neither a value target nor an average value target was set")), nil
	}
	sum, err := a.askExternal(s)
	if err == nil && isAverage {
		replicas, share := a.replicasForShares(sum, average, a.behavior.tolerance())
		return proposal{replicas, externalName(s), map[string]any{"averageValue": formatMilli(share, false)}}, nil, nil
	}
	if err == nil {
		p.replicas, err = a.replicasForRatio(float64(sum)/float64(value), a.behavior.tolerance())
	}
	switch {
	case err == nil:
		p.name, p.current = externalName(s), map[string]any{"value": formatMilli(sum, false)}
		return p, nil, nil
	case isAverage:
		return p, fmt.Errorf("failed to get %s external metric: %w", s.name, err), err
	}
	return p, fmt.Errorf("failed to get external metric %s: %w", s.name, err), err
}

func (a *autoscaler) askExternal(s metricSpec) (int64, error) {
	selector, err := metricSelector(s)
	if err != nil {
		return 0, err
	}
	sum, err := a.askSum(Query{Type: s.kind, Name: s.name, Selector: selector})
	if err != nil {
		return 0, fmt.Errorf("unable to get external metric %s/%s/%s: %w", a.Name.Namespace, s.name, printedSelector(s), err)
	}
	return sum, nil
}

// metricSelector returns the selector of a metric. A metric without one selects everything.
func metricSelector(s metricSpec) (labels.Selector, error) {
	m := fields.Map(s.source, "metric", "selector")
	if m == nil {
		return labels.Everything(), nil
	}
	return readSelector(m)
}

// printedSelector is the selector as Go prints it, which Events have.
func printedSelector(s metricSpec) string {
	m := fields.Map(s.source, "metric", "selector")
	if m == nil {
		return "nil"
	}
	var typed metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &typed); err != nil {
		return err.Error()
	}
	return typed.String()
}

func externalName(s metricSpec) string {
	return fmt.Sprintf("external metric %s(%s)", s.name, printedSelector(s))
}

// milli reads a quantity in thousandths. It returns false without a quantity.
func milli(m map[string]any, field string) (int64, bool, error) {
	v, ok := m[field]
	if !ok || v == nil {
		return 0, false, nil
	}
	q, err := quantity(v)
	if err != nil {
		return 0, false, fmt.Errorf("target.%s: %w", field, err)
	}
	return q.MilliValue(), true, nil
}

// formatMilli prints a number of thousandths as a quantity, in powers of two if it is of bytes.
func formatMilli(n int64, bytes bool) string {
	format := resource.DecimalSI
	if bytes {
		format = resource.BinarySI
	}
	return resource.NewMilliQuantity(n, format).String()
}
