package labtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/autoscaling"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/kubelet"
)

// Logs returns the log of a container at the time of the lab, as kubectl logs prints it. The Pod is
// NAME, in the namespace default, or NAMESPACE/NAME. The error is that of the API server:
// containers.ErrNotSimulated if nothing says what the container prints, or a BadRequest if the
// container has not started. Follow has no effect: the log ends at the time of the lab.
func (l *Lab) Logs(pod string, o containers.LogOptions) (string, error) {
	l.t.Helper()
	o.Follow = false
	log, err := containers.Of(l.Cluster()).Logs(context.Background(), podName(pod), o)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	_, err = log.WriteTo(&text)
	return text.String(), err
}

// An ExecResult is how a command ended.
type ExecResult struct {
	Stdout, Stderr string
	Code           int
}

// Exec runs a command in a container by Options.Containers.Exec, as kubectl exec does. The Pod is as
// in [Lab.Logs]; the container "" is the only one of the Pod. The error is that of the API server, or
// of the function; a command that fails has a Code and no error. Use package stage/lab/containers for
// commands that read.
func (l *Lab) Exec(pod, container string, argv ...string) (ExecResult, error) {
	l.t.Helper()
	ctx := context.Background()
	run, err := containers.Of(l.Cluster()).Exec(ctx, podName(pod), container)
	if err != nil {
		return ExecResult{}, err
	}
	var stdout, stderr bytes.Buffer
	code, err := run(ctx, containers.Command{Argv: argv, Streams: containers.Streams{Stdout: &stdout, Stderr: &stderr}})
	return ExecResult{stdout.String(), stderr.String(), code}, err
}

// podName returns the namespace and name of NAME or NAMESPACE/NAME.
func podName(name string) types.NamespacedName {
	namespace, rest, found := strings.Cut(name, "/")
	if !found {
		namespace, rest = metav1.NamespaceDefault, name
	}
	return types.NamespacedName{Namespace: namespace, Name: rest}
}

// containers returns the functions of the options. Containers whose function Logs says nothing
// print what their command prints, as far as the kubelet knows it.
func (l *Lab) containers() containers.Options {
	o := l.options.Containers
	given := o.Logs
	o.Logs = func(ctx context.Context, c containers.Container) (iter.Seq[containers.Line], error) {
		if given != nil {
			if lines, err := given(ctx, c); !errors.Is(err, containers.ErrNotSimulated) {
				return lines, err
			}
		}
		return l.output(c)
	}
	return o
}

// output returns what the command of a container prints.
func (l *Lab) output(c containers.Container) (iter.Seq[containers.Line], error) {
	lines, known := kubelet.Output(c.Pod, c.Name, c.Run, l.options.Kubelets)
	if !known {
		return nil, containers.ErrNotSimulated
	}
	return func(yield func(containers.Line) bool) {
		for _, line := range lines {
			if !yield(containers.Line{Time: c.Started.Add(line.After), Text: line.Text}) {
				return
			}
		}
	}, nil
}

// metrics returns the metrics of HorizontalPodAutoscalers: nil for those of annotations alone, which
// change with objects only. A Pod whose usage has an error is without metrics. Without any metrics the
// autoscaler gets the error of the first such Pod.
func (l *Lab) metrics() autoscaling.Metrics {
	if l.options.Metrics != nil || l.options.Containers.Usage == nil {
		return l.options.Metrics
	}
	return func(q autoscaling.Query) ([]autoscaling.Value, error) {
		values, err := autoscaling.FromAnnotations(q)
		if err != nil || q.Type != "Resource" && q.Type != "ContainerResource" {
			return values, err
		}
		known := map[string]bool{}
		for _, v := range values {
			known[v.Pod] = true
		}
		var first error
		for _, pod := range q.Pods {
			if known[pod.GetName()] {
				continue
			}
			v, found, err := l.usage(q, pod)
			if found {
				values = append(values, v)
			}
			if err != nil {
				l.keepUsageError(err)
				first = cmp.Or(first, err)
			}
		}
		if len(values) == 0 {
			return nil, first
		}
		return values, nil
	}
}

// keepUsageError keeps an error for messages, once for each text: autoscalers read usage every 15s.
func (l *Lab) keepUsageError(err error) {
	if text := err.Error(); !l.usageErrors[text] && len(l.usageErrors) < mostKept {
		l.usageErrors[text] = true
		l.keepError(err)
	}
}

// usage returns what a Pod uses of a resource. It returns false for a Pod without metrics: none of
// its containers runs, or nothing says what they use.
func (l *Lab) usage(q autoscaling.Query, pod *unstructured.Unstructured) (v autoscaling.Value, found bool, err error) {
	used, err := containers.Of(l.Cluster()).Usage(context.Background(), pod)
	if errors.Is(err, containers.ErrNotSimulated) {
		return v, false, nil
	}
	if err != nil {
		return v, false, err
	}
	v.Pod, v.Window = pod.GetName(), containers.Window
	for name, u := range used {
		amount, known := map[string]*resource.Quantity{"cpu": &u.CPU, "memory": &u.Memory}[q.Name]
		if !known || q.Type == "ContainerResource" && name != q.Container {
			continue
		}
		v.Quantity.Add(*amount)
		if !found || u.Time.Before(v.Time) {
			v.Time = u.Time
		}
		found = true
	}
	return v, found, nil
}
