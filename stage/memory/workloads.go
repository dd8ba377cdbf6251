package memory

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// checkWorkload refuses, by option, a workload without a template of its Pods, or without a selector
// that matches that template, in the words of an API server.
func (r *request) checkWorkload(root map[string]any) error {
	if !r.options.RequireTemplates {
		return nil
	}
	if faults := workloadFaults(r.kind.Group+"/"+r.kind.Kind.Kind, root); len(faults) > 0 {
		return apierrors.NewInvalid(r.kind.GroupKind(), r.Name.Name, faults)
	}
	return nil
}

// checkWorkloadUpdate does the same for an update, unless the spec is the one that was stored.
func (r *request) checkWorkloadUpdate(before, next map[string]any) error {
	old, _ := before["spec"].(map[string]any)
	now, _ := next["spec"].(map[string]any)
	if !r.options.RequireTemplates || same(old, now) {
		return nil
	}
	return r.checkWorkload(next)
}

func workloadFaults(kind string, root map[string]any) fieldErrors {
	template, path := []string{"spec", "template"}, field.NewPath("spec", "template")
	switch kind {
	case "apps/Deployment", "apps/ReplicaSet", "apps/StatefulSet", "apps/DaemonSet":
		return append(selectorFaults(root), templateFaults(root, template, path)...)
	case "/ReplicationController", "batch/Job": // the server makes their selectors
		return templateFaults(root, template, path)
	case "batch/CronJob":
		return templateFaults(root, []string{"spec", "jobTemplate", "spec", "template"}, field.NewPath("spec", "jobTemplate", "spec", "template"))
	}
	return nil
}

func templateFaults(root map[string]any, at []string, path *field.Path) fieldErrors {
	if template, _ := object.Map(root, at...); len(template) > 0 {
		return nil
	}
	return fieldErrors{field.Required(path, "")}
}

func selectorFaults(root map[string]any) fieldErrors {
	path := field.NewPath("spec", "selector")
	given, _ := object.Map(root, "spec", "selector")
	if given == nil {
		return fieldErrors{field.Required(path, "")}
	}
	var read metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(given, &read); err != nil {
		return fieldErrors{field.Invalid(path, given, err.Error())}
	}
	if len(read.MatchLabels)+len(read.MatchExpressions) == 0 {
		return fieldErrors{field.Invalid(path, given, "empty selector is invalid")}
	}
	selector, err := metav1.LabelSelectorAsSelector(&read)
	if err != nil {
		return fieldErrors{field.Invalid(path, given, err.Error())}
	}
	set, _ := object.Map(root, "spec", "template", "metadata", "labels")
	if template, _ := object.Map(root, "spec", "template"); len(template) > 0 && !selector.Matches(labelsOf(set)) {
		return fieldErrors{field.Invalid(field.NewPath("spec", "template", "metadata", "labels"), set, "`selector` does not match template `labels`")}
	}
	return nil
}

func labelsOf(m map[string]any) labels.Set {
	set := make(labels.Set, len(m))
	for key, v := range m {
		set[key], _ = v.(string)
	}
	return set
}
