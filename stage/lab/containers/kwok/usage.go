package kwok

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
)

// most is what a container can use of a resource, as package containers checks it.
var most = map[string]int64{"cpu": 1e6, "memory": 1e15}

// compile compiles the expressions of an object.
func (s *usageSpec) compile(d *decoder, n *yaml.Node) {
	for i, u := range s.Usages {
		for _, name := range slices.Sorted(maps.Keys(u.Usage)) {
			v := u.Usage[name]
			path := fmt.Sprintf("spec.usages[%d].usage.%s", i, name)
			at := find(n, "spec", "usages", i, "usage", name)
			switch {
			case name != "cpu" && name != "memory":
				d.fault(at, path, "only cpu and memory are measured")
			case v.Value != nil && (v.Value.Sign() < 0 || v.Value.CmpInt64(most[name]) > 0):
				d.fault(at, path+".value", "want a quantity from 0 to %s, got %s", exponents.Replace(fmt.Sprint(float64(most[name]))), v.Value)
			case v.Value == nil && v.Expression == nil:
				d.fault(at, path, "want value or expression")
			case v.Value == nil:
				p, err := compile(*v.Expression, "", amountTo(float64(most[name])))
				at := find(at, "expression")
				if err != nil {
					d.fault(at, path+".expression", "%v", err)
				}
				v.program, v.where = p, fmt.Sprintf("%s:%d:%d: %s.expression", d.name, at.Line, at.Column, path)
				u.Usage[name] = v
			}
		}
	}
}

// of returns what a container uses. An error has the position of the expression.
func (v value) of(c containers.Container, now time.Time) (q resource.Quantity, err error) {
	switch {
	case v.Value != nil:
		return *v.Value, nil
	case v.program == nil:
		return q, nil
	}
	if q, err = v.evaluate(c, now); err != nil {
		err = fmt.Errorf("%s: %w", v.where, err)
	}
	return q, err
}

// evaluate evaluates the expression for a container.
func (v value) evaluate(c containers.Container, now time.Time) (q resource.Quantity, err error) {
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(c.Pod.Object, &pod); err != nil {
		return q, err
	}
	e := &evaluation{now: now, pod: &containers.PodUsage{Pod: c.Pod}, container: c.Name}
	amount, err := v.program.float(e.with(map[string]any{"pod": pod, "container": containerOf(&pod, c.Name)}))
	if err != nil {
		return q, err
	}
	return quantityOf(amount), nil
}

// containerOf returns a container of a Pod by its name.
func containerOf(pod *corev1.Pod, name string) (c corev1.Container) {
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		if c.Name == name {
			return c
		}
	}
	return c
}

// quantityOf returns an amount that most allows.
func quantityOf(amount float64) resource.Quantity {
	if amount < 1e6 {
		return *resource.NewScaledQuantity(int64(math.Round(amount*1e6)), resource.Micro)
	}
	return *resource.NewQuantity(int64(amount), resource.BinarySI)
}
