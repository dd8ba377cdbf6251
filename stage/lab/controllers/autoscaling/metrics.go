package autoscaling

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

// Metrics returns the values that the metrics APIs of a cluster would return. It must not change
// the objects that it gets. An error, or no value at all, is reported in the condition
// ScalingActive and in an Event.
type Metrics func(Query) ([]Value, error)

// A Query asks for one metric of an autoscaler.
type Query struct {
	// Type is Resource, ContainerResource, Pods, Object or External.
	Type string
	// Name is the name of the resource, such as cpu, or of the metric.
	Name string
	// Container is the name of the container to measure. It is set if the type is
	// ContainerResource.
	Container string
	// Selector is the selector of the metric, if the type is Pods, Object or External. Not nil.
	Selector labels.Selector
	// Object is spec.metrics[*].object.describedObject, if the type is Object.
	Object map[string]any
	// Pods are the Pods that the scaled object selects, by name. A Pod without a value is missing.
	Pods []*unstructured.Unstructured
	// Autoscaler is the autoscaler that needs the values.
	Autoscaler *unstructured.Unstructured
	// Now is the time.
	Now time.Time
}

// A Value is the value of one Pod or, if the type is Object or External, of another object.
type Value struct {
	// Pod is the name of the Pod, or "" if the value is not of a Pod.
	Pod string
	// Quantity is the measured amount: cores, bytes, or the unit of the metric.
	Quantity resource.Quantity
	// Time is the time of the measurement, over the Window before it. Default: now, and no window.
	// While a Pod is starting, its use of CPU does not count until it has been ready for a window.
	Time   time.Time
	Window time.Duration
}

// AnnotationPrefix begins the annotations that [FromAnnotations] reads.
const AnnotationPrefix = "metrics.stagecraft-go.github.io/"

// FromAnnotations reads annotations of the Pods, such as
//
//	metrics.stagecraft-go.github.io/cpu: 250m
//	metrics.stagecraft-go.github.io/requests_per_second: "12"
//	app.container.metrics.stagecraft-go.github.io/cpu: 100m
//
// The last one is for the container app. A Pod without an annotation for the metric is missing.
// Metrics of the types Object and External are annotations of the autoscaler itself, in the first
// form.
func FromAnnotations(q Query) (values []Value, err error) {
	key := AnnotationPrefix + q.Name
	of := q.Pods
	switch q.Type {
	case "ContainerResource":
		key = q.Container + ".container." + key
	case "Object", "External":
		of = []*unstructured.Unstructured{q.Autoscaler}
	}
	for _, obj := range of {
		text := fields.Annotation(obj, key)
		if text == "" {
			continue
		}
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("metadata.annotations[%s] of %s %s: %w", key, obj.GetKind(), obj.GetName(), err)
		}
		values = append(values, Value{Pod: obj.GetName(), Quantity: quantity})
	}
	return values, nil
}

// A sample is a value of a Pod in thousandths.
type sample struct {
	value  int64
	time   time.Time
	window time.Duration
}

// samples are the values of Pods by name.
type samples map[string]sample

// apiOf names the API that serves a type of metric.
var apiOf = map[string]string{
	"Resource": "resource", "ContainerResource": "resource", "Pods": "custom", "Object": "custom", "External": "external",
}

func (a *autoscaler) ask(q Query) ([]Value, error) {
	q.Autoscaler, q.Now, q.Pods = a.hpa, a.Now, nil
	for _, p := range a.pods {
		q.Pods = append(q.Pods, p.Unstructured)
	}
	values, err := a.options.Metrics(q)
	if err == nil && len(values) == 0 {
		err = errors.New("no metrics returned from " + apiOf[q.Type] + " metrics API")
	}
	return values, err
}

// askPods returns a metric of each Pod.
func (a *autoscaler) askPods(q Query) (samples, error) {
	values, err := a.ask(q)
	if err != nil {
		return nil, err
	}
	found := samples{}
	for _, v := range values {
		if v.Time.IsZero() {
			v.Time = a.Now
		}
		found[v.Pod] = sample{v.Quantity.MilliValue(), v.Time, v.Window}
	}
	return found, nil
}

// askSum returns a metric without Pods, in thousandths. All values of an external metric count.
func (a *autoscaler) askSum(q Query) (sum int64, err error) {
	values, err := a.ask(q)
	for _, v := range values {
		sum += v.Quantity.MilliValue()
	}
	return sum, err
}
