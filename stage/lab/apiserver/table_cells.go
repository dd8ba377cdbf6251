package apiserver

import (
	_ "embed" // columns.json
	"encoding/json"
	"strings"
	"sync"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"
)

// columnsText is the columns of the Tables of kube-apiserver 1.36.3 by RESOURCE.VERSION.GROUP,
// recorded by internal/dev/e2e.
//
//go:embed columns.json
var columnsText []byte

var recordedColumns = sync.OnceValue(func() (columns map[string][]metav1.TableColumnDefinition) {
	if err := json.Unmarshal(columnsText, &columns); err != nil {
		panic(err) // the file is part of the program
	}
	return columns
})

const (
	none    = "<none>"
	unknown = "<unknown>"
	unset   = "<unset>"
)

// cells prints the cells of objects of Go types, those of all columns, as pkg/printers of Kubernetes
// does.
type cells struct {
	now time.Time // of the cluster
}

// of returns the cells of an object; nil for kinds that are not printed.
func (c cells) of(u *unstructured.Unstructured) []any {
	if print := untyped[u.GroupVersionKind().GroupKind()]; print != nil {
		return print(printable{u, c.age(u.GetCreationTimestamp())})
	}
	obj, err := typed(u, u.GetKind())
	if err != nil {
		return nil
	}
	switch o := obj.(type) {
	case *corev1.Pod:
		return c.pod(o)
	case *corev1.Node:
		return c.node(o)
	case *corev1.Event:
		return c.event(o)
	case *batchv1.Job:
		return c.job(o)
	case *batchv1.CronJob:
		return c.cronJob(o)
	case *policyv1.PodDisruptionBudget:
		return c.budget(o)
	case *autoscalingv1.HorizontalPodAutoscaler:
		return c.autoscaler(laterAutoscaler(o))
	case *autoscalingv2.HorizontalPodAutoscaler:
		return c.autoscaler(o)
	}
	for _, of := range []func(any) []any{c.workload, c.service, c.config, c.storage, c.rest} {
		if row := of(obj); row != nil {
			return row
		}
	}
	return nil
}

// age is the text of the time since t.
func (c cells) age(t metav1.Time) string {
	if t.IsZero() {
		return unknown
	}
	return duration.HumanDuration(c.now.Sub(t.Time))
}

// number is what a pointer points to; nothing is 0.
func number(n *int32) int64 {
	if n == nil {
		return 0
	}
	return int64(*n)
}

func namesAndImages(spec corev1.PodSpec) (names, images string) {
	var of [2][]string
	for _, c := range spec.Containers {
		of[0], of[1] = append(of[0], c.Name), append(of[1], c.Image)
	}
	return strings.Join(of[0], ","), strings.Join(of[1], ",")
}

// defaultName marks the class that is the default by an annotation.
func defaultName(m metav1.ObjectMeta, annotation string) string {
	if m.Annotations[annotation] == "true" {
		return m.Name + " (default)"
	}
	return m.Name
}
