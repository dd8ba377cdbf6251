package containers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// MeasuresUsage reports whether the cluster has Options.Usage: whether a server has the API
// metrics.k8s.io, as a cluster with metrics-server.
func (r *Runtime) MeasuresUsage() bool { return r.options.Usage != nil }

// Kubelet returns what answers other paths of the kubelet of a Node, by Options.Kubelet; nil without it.
func (r *Runtime) Kubelet(u NodeUsage) http.Handler {
	if r.options.Kubelet == nil {
		return nil
	}
	return r.options.Kubelet(u)
}

// Annotated is a function for Options.Usage in a cluster whose annotations alone say what containers
// use. A Pod without annotations has no metrics.
func Annotated(Container, time.Time) (Usage, error) { return Usage{}, ErrNotSimulated }

// Usage returns what the containers of a Pod use now, by name. It is empty for a Pod none of whose
// containers runs. The error is ErrNotSimulated if nothing says what a running container uses. Every
// other error names the Pod and the container.
func (r *Runtime) Usage(_ context.Context, pod *unstructured.Unstructured) (map[string]Usage, error) {
	all, now := map[string]Usage{}, r.cluster.Now()
	for _, l := range lists[:2] {
		for _, name := range names(pod, l.spec) {
			c := stateOf(pod, name).running
			if c == nil {
				continue
			}
			usage, err := r.usage(*c, now)
			if err == nil {
				err = usage.check(r.cluster.Now())
			}
			if errors.Is(err, ErrNotSimulated) {
				return nil, err
			}
			if err != nil {
				return nil, fmt.Errorf("the usage of container %q of Pod %s/%s: %w", name, pod.GetNamespace(), pod.GetName(), err)
			}
			if usage.Time.IsZero() {
				usage.Time = now
			}
			all[name] = usage
		}
	}
	return all, nil
}

// usage returns what a container uses: by its annotations, or by the function of the program.
func (r *Runtime) usage(c Container, now time.Time) (u Usage, err error) {
	cpu, hasCPU, errCPU := annotated(c, "cpu")
	memory, hasMemory, errMemory := annotated(c, "memory")
	if hasCPU || hasMemory {
		return Usage{CPU: cpu, Memory: memory}, errors.Join(errCPU, errMemory)
	}
	err = ErrNotSimulated
	if r.options.Usage != nil {
		u, err = r.options.Usage(c, now)
	}
	if errors.Is(err, ErrNotSimulated) {
		return u, notSimulated("the usage", c.full(), "Usage")
	}
	return u, err
}

// A container uses at most these amounts, so that no sum of a Node or an autoscaler overflows: cores,
// bytes and core-seconds.
const (
	mostCPU        = 1e6
	mostMemory     = 1e15
	mostCPUSeconds = 1e15
)

// check returns an error if a container cannot use this.
func (u Usage) check(now time.Time) error {
	outside := func(q resource.Quantity, most int64) bool { return q.Sign() < 0 || q.CmpInt64(most) > 0 }
	switch {
	case outside(u.CPU, mostCPU):
		return fmt.Errorf("cpu: want 0 to 1e6 cores, got %s", &u.CPU)
	case outside(u.Memory, mostMemory):
		return fmt.Errorf("memory: want 0 to 1e15 bytes, got %s", &u.Memory)
	case !(u.CPUSeconds >= 0 && u.CPUSeconds <= mostCPUSeconds): // also NaN
		return fmt.Errorf("CPUSeconds: want 0 to 1e15 core-seconds, got %g", u.CPUSeconds)
	case u.Time.After(now):
		return fmt.Errorf("Time: want at most the time of the cluster, %s, got %s", now.UTC().Format(time.RFC3339Nano), u.Time.UTC().Format(time.RFC3339Nano))
	}
	return nil
}

// annotated returns what the annotations of a Pod say that a container uses of a resource. What they
// say of the whole Pod is what its first container uses.
func annotated(c Container, resourceName string) (q resource.Quantity, has bool, err error) {
	key := c.Name + ".container." + UsagePrefix + resourceName
	text, has := c.Pod.GetAnnotations()[key]
	if !has {
		key = UsagePrefix + resourceName
		text, has = c.Pod.GetAnnotations()[key]
		if first := names(c.Pod, "containers"); has && len(first) > 0 && first[0] != c.Name {
			return q, true, nil
		}
	}
	if !has {
		return q, false, nil
	}
	if q, err = resource.ParseQuantity(text); err != nil {
		err = fmt.Errorf("metadata.annotations[%s]: %w", key, err)
	}
	return q, true, err
}
