package apiserver

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// workload returns the cells of a kind that keeps Pods.
func (c cells) workload(obj any) []any {
	switch o := obj.(type) {
	case *corev1.ReplicationController:
		names, images := "", ""
		if o.Spec.Template != nil {
			names, images = namesAndImages(o.Spec.Template.Spec)
		}
		return []any{o.Name, number(o.Spec.Replicas), int64(o.Status.Replicas), int64(o.Status.ReadyReplicas), c.age(o.CreationTimestamp), names, images, labels.FormatLabels(o.Spec.Selector)}
	case *appsv1.ReplicaSet:
		names, images := namesAndImages(o.Spec.Template.Spec)
		return []any{o.Name, number(o.Spec.Replicas), int64(o.Status.Replicas), int64(o.Status.ReadyReplicas), c.age(o.CreationTimestamp), names, images, metav1.FormatLabelSelector(o.Spec.Selector)}
	case *appsv1.Deployment:
		names, images := namesAndImages(o.Spec.Template.Spec)
		return []any{o.Name, fmt.Sprintf("%d/%d", o.Status.ReadyReplicas, number(o.Spec.Replicas)), int64(o.Status.UpdatedReplicas), int64(o.Status.AvailableReplicas), c.age(o.CreationTimestamp), names, images, selectorText(o.Spec.Selector)}
	case *appsv1.StatefulSet:
		names, images := namesAndImages(o.Spec.Template.Spec)
		return []any{o.Name, fmt.Sprintf("%d/%d", o.Status.ReadyReplicas, number(o.Spec.Replicas)), c.age(o.CreationTimestamp), names, images}
	case *appsv1.DaemonSet:
		s := o.Status
		names, images := namesAndImages(o.Spec.Template.Spec)
		return []any{o.Name, int64(s.DesiredNumberScheduled), int64(s.CurrentNumberScheduled), int64(s.NumberReady), int64(s.UpdatedNumberScheduled), int64(s.NumberAvailable),
			labels.FormatLabels(o.Spec.Template.Spec.NodeSelector), c.age(o.CreationTimestamp), names, images, metav1.FormatLabelSelector(o.Spec.Selector)}
	case *appsv1.ControllerRevision:
		return []any{o.Name, controllerOf(o), o.Revision, c.age(o.CreationTimestamp)}
	}
	return nil
}

func selectorText(s *metav1.LabelSelector) string {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return "<invalid>"
	}
	return selector.String()
}

func controllerOf(o metav1.Object) string {
	ref := metav1.GetControllerOf(o)
	if ref == nil {
		return none
	}
	gv, _ := schema.ParseGroupVersion(ref.APIVersion)
	return fmt.Sprintf("%s/%s", strings.ToLower(gv.WithKind(ref.Kind).GroupKind().String()), ref.Name)
}

func (c cells) job(o *batchv1.Job) []any {
	completions := fmt.Sprintf("%d/1", o.Status.Succeeded)
	switch {
	case o.Spec.Completions != nil:
		completions = fmt.Sprintf("%d/%d", o.Status.Succeeded, *o.Spec.Completions)
	case number(o.Spec.Parallelism) > 1:
		completions = fmt.Sprintf("%d/1 of %d", o.Status.Succeeded, *o.Spec.Parallelism)
	}
	took := ""
	switch start, end := o.Status.StartTime, o.Status.CompletionTime; {
	case start == nil:
	case end == nil:
		took = c.age(*start)
	default:
		took = duration.HumanDuration(end.Sub(start.Time))
	}
	names, images := namesAndImages(o.Spec.Template.Spec)
	return []any{o.Name, jobStatus(o), completions, took, c.age(o.CreationTimestamp), names, images, metav1.FormatLabelSelector(o.Spec.Selector)}
}

func jobStatus(o *batchv1.Job) string {
	has := map[batchv1.JobConditionType]bool{}
	for _, c := range o.Status.Conditions {
		has[c.Type] = c.Status == corev1.ConditionTrue
	}
	switch {
	case has[batchv1.JobComplete]:
		return "Complete"
	case has[batchv1.JobFailed]:
		return "Failed"
	case o.DeletionTimestamp != nil:
		return "Terminating"
	}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuspended, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet} {
		if has[kind] {
			return string(kind)
		}
	}
	return "Running"
}

func (c cells) cronJob(o *batchv1.CronJob) []any {
	last, zone, suspended := none, none, unset
	if o.Status.LastScheduleTime != nil {
		last = c.age(*o.Status.LastScheduleTime)
	}
	if o.Spec.TimeZone != nil {
		zone = *o.Spec.TimeZone
	}
	if o.Spec.Suspend != nil {
		suspended = map[bool]string{true: "True", false: "False"}[*o.Spec.Suspend]
	}
	names, images := namesAndImages(o.Spec.JobTemplate.Spec.Template.Spec)
	return []any{o.Name, o.Spec.Schedule, zone, suspended, int64(len(o.Status.Active)), last, c.age(o.CreationTimestamp),
		names, images, metav1.FormatLabelSelector(o.Spec.JobTemplate.Spec.Selector)}
}

func (c cells) budget(o *policyv1.PodDisruptionBudget) []any {
	text := func(v *intstr.IntOrString) string {
		if v == nil {
			return "N/A"
		}
		return v.String()
	}
	return []any{o.Name, text(o.Spec.MinAvailable), text(o.Spec.MaxUnavailable), int64(o.Status.DisruptionsAllowed), c.age(o.CreationTimestamp)}
}

func (c cells) autoscaler(o *autoscalingv2.HorizontalPodAutoscaler) []any {
	least := unset
	if o.Spec.MinReplicas != nil {
		least = fmt.Sprint(*o.Spec.MinReplicas)
	}
	return []any{o.Name, o.Spec.ScaleTargetRef.Kind + "/" + o.Spec.ScaleTargetRef.Name, metricsText(o.Spec.Metrics, o.Status.CurrentMetrics),
		least, int64(o.Spec.MaxReplicas), int64(o.Status.CurrentReplicas), c.age(o.CreationTimestamp)}
}

// metricsText is the first two metrics of an autoscaler, each as current/target.
func metricsText(specs []autoscalingv2.MetricSpec, statuses []autoscalingv2.MetricStatus) string {
	if len(specs) == 0 {
		return none
	}
	list := make([]string, len(specs))
	for i, spec := range specs {
		var status autoscalingv2.MetricStatus
		if i < len(statuses) {
			status = statuses[i]
		}
		list[i] = metricText(spec, status)
	}
	return shortened(list, 2, ", ")
}

func metricText(spec autoscalingv2.MetricSpec, status autoscalingv2.MetricStatus) string {
	var current autoscalingv2.MetricValueStatus
	switch {
	case spec.External != nil:
		if status.External != nil {
			current = status.External.Current
		}
		return valueText(spec.External.Target, current)
	case spec.Pods != nil:
		if status.Pods != nil {
			current = status.Pods.Current
		}
		return quantityText(current.AverageValue) + "/" + quantityText(spec.Pods.Target.AverageValue)
	case spec.Object != nil:
		if status.Object != nil {
			current = status.Object.Current
		}
		return valueText(spec.Object.Target, current)
	case spec.Resource != nil:
		if status.Resource != nil {
			current = status.Resource.Current
		}
		return utilizationText(spec.Resource.Name, spec.Resource.Target, current)
	case spec.ContainerResource != nil:
		if status.ContainerResource != nil {
			current = status.ContainerResource.Current
		}
		return utilizationText(spec.ContainerResource.Name, spec.ContainerResource.Target, current)
	}
	return "<unknown type>"
}

func valueText(target autoscalingv2.MetricTarget, current autoscalingv2.MetricValueStatus) string {
	if target.AverageValue != nil {
		return quantityText(current.AverageValue) + "/" + quantityText(target.AverageValue) + " (avg)"
	}
	return quantityText(current.Value) + "/" + quantityText(target.Value)
}

func utilizationText(name corev1.ResourceName, target autoscalingv2.MetricTarget, current autoscalingv2.MetricValueStatus) string {
	if target.AverageValue != nil {
		return fmt.Sprintf("%s: %s/%s", name, quantityText(current.AverageValue), quantityText(target.AverageValue))
	}
	percent := func(v *int32, missing string) string {
		if v == nil {
			return missing
		}
		return fmt.Sprintf("%d%%", *v)
	}
	return fmt.Sprintf("%s: %s/%s", name, percent(current.AverageUtilization, unknown), percent(target.AverageUtilization, "<auto>"))
}

func quantityText(q *apiresource.Quantity) string {
	if q == nil {
		return unknown
	}
	return q.String()
}
