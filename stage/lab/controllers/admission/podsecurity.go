package admission

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// podTemplates are the paths of the Pods in workloads.
var podTemplates = map[schema.GroupResource][]string{
	{Resource: "replicationcontrollers"}:      {"spec", "template"},
	{Resource: "podtemplates"}:                {"template"},
	{Group: "apps", Resource: "replicasets"}:  {"spec", "template"},
	{Group: "apps", Resource: "deployments"}:  {"spec", "template"},
	{Group: "apps", Resource: "statefulsets"}: {"spec", "template"},
	{Group: "apps", Resource: "daemonsets"}:   {"spec", "template"},
	{Group: "batch", Resource: "jobs"}:        {"spec", "template"},
	{Group: "batch", Resource: "cronjobs"}:    {"spec", "jobTemplate", "spec", "template"},
	{Resource: "pods"}:                        {},
}

// checkPodSecurity does what the admission plugin PodSecurity does: the labels
// pod-security.kubernetes.io of a Namespace say which Pods are refused, and about which Pods and
// workloads clients of a server are warned. The checks are those of k8s.io/pod-security-admission.
// Audit annotations are discarded.
func checkPodSecurity(v *memory.Review) error {
	if v.Kind == kinds.Namespace {
		return checkLevels(v)
	}
	path, isAboutPods := podTemplates[v.Resource]
	if !isAboutPods || v.Resource == pods && v.Old != nil && !changesImages(v) {
		return nil
	}
	levels, faults := levelsOf(v.Get(kinds.Namespace, types.NamespacedName{Name: v.Name.Namespace}))
	isPod := v.Resource == pods
	if faults == nil && (levels.FullyPrivileged() || !isPod && levels.Warn.Level == api.LevelPrivileged) {
		return nil
	}
	template := v.New.Object
	if len(path) > 0 {
		template = fields.Map(template, path...)
	}
	pod := &corev1.Pod{}
	if template == nil || runtime.DefaultUnstructuredConverter.FromUnstructured(template, pod) != nil {
		return nil // a workload without a template; values of a wrong type are refused by others
	}
	if isPod {
		if result := violations(levels.Enforce, pod); !result.Allowed {
			return apierrors.NewForbidden(v.Resource, v.Name.Name, fmt.Errorf("violates PodSecurity %q: %s", levels.Enforce.String(), result.ForbiddenDetail()))
		}
	}
	if result := violations(levels.Warn, pod); !result.Allowed {
		warning.AddWarning(v.Context(), "", fmt.Sprintf("would violate PodSecurity %q: %s", levels.Warn.String(), result.ForbiddenDetail()))
	}
	return nil
}

// levelsOf returns what the labels of a Namespace say. Labels with faults mean restricted, as in
// Kubernetes.
func levelsOf(namespace *unstructured.Unstructured) (api.Policy, error) {
	if namespace == nil || !hasLevels(namespace) {
		return byDefault, nil
	}
	levels, faults := api.PolicyToEvaluate(namespace.GetLabels(), byDefault)
	return levels, faults.ToAggregate()
}

func hasLevels(namespace *unstructured.Unstructured) bool {
	labels := fields.Map(namespace.Object, "metadata", "labels")
	for _, key := range securityLabels {
		if _, has := labels[key]; has {
			return true
		}
	}
	return false
}

var (
	privileged = api.LevelVersion{Level: api.LevelPrivileged, Version: api.LatestVersion()}
	byDefault  = api.Policy{Enforce: privileged, Audit: privileged, Warn: privileged}
)

// securityLabels are the labels that say which Pods a Namespace may have.
var securityLabels = []string{
	api.EnforceLevelLabel, api.EnforceVersionLabel, api.WarnLevelLabel, api.WarnVersionLabel, api.AuditLevelLabel, api.AuditVersionLabel,
}

var evaluator = sync.OnceValue(func() policy.Evaluator {
	e, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		panic(err) // the checks are part of the program
	}
	return e
})

func violations(level api.LevelVersion, pod *corev1.Pod) policy.AggregateCheckResult {
	return policy.AggregateCheckResults(evaluator().EvaluatePod(level, &pod.ObjectMeta, &pod.Spec))
}

// changesImages reports whether an update of a Pod changes what is checked: of the fields that may
// change, only images are.
func changesImages(v *memory.Review) bool {
	return differ(v, "containers") || differ(v, "initContainers")
}

func differ(v *memory.Review, group string) bool {
	before, now := fields.Slice(v.Old.Object, "spec", group), fields.Slice(v.New.Object, "spec", group)
	return !slices.EqualFunc(before, now, func(a, b any) bool { return fields.Value(asMap(a), "image") == fields.Value(asMap(b), "image") })
}

func asMap(v any) map[string]any {
	m, _ := object.ToMap(v)
	return m
}

// checkLevels refuses labels of a Namespace with faults, and warns about Pods that a new level would
// refuse.
func checkLevels(v *memory.Review) error {
	next, faults := api.PolicyToEvaluate(v.New.GetLabels(), byDefault)
	if v.Old == nil {
		if len(faults) > 0 {
			return apierrors.NewInvalid(v.Kind.GroupKind(), v.Name.Name, faults)
		}
		return nil
	}
	before, oldFaults := api.PolicyToEvaluate(v.Old.GetLabels(), byDefault)
	if len(faults) > 0 && (len(oldFaults) == 0 || !reflect.DeepEqual(faults, oldFaults)) {
		return apierrors.NewInvalid(v.Kind.GroupKind(), v.Name.Name, faults)
	}
	isRelaxed := next.Enforce.Version == before.Enforce.Version && api.CompareLevels(next.Enforce.Level, before.Enforce.Level) < 1
	if next.Enforce == before.Enforce || next.Enforce.Level == api.LevelPrivileged || isRelaxed {
		return nil
	}
	for _, text := range warningsAbout(v.List(kinds.Pod, v.Name.Name), v.Name.Name, next.Enforce) {
		warning.AddWarning(v.Context(), "", text)
	}
	return nil
}

// mostChecked is how many Pods of a Namespace are checked when its level changes.
const mostChecked = 3000

// warningsAbout returns warnings about Pods, those with the same faults together. Of the Pods of one
// controller the first comes before the others are checked.
func warningsAbout(list []*unstructured.Unstructured, namespace string, level api.LevelVersion) (texts []string) {
	var first, others []*unstructured.Unstructured
	seen := map[types.UID]bool{}
	for _, p := range list {
		owner := metav1.GetControllerOfNoCopy(p)
		if owner != nil && seen[owner.UID] {
			others = append(others, p)
			continue
		}
		if first = append(first, p); owner != nil {
			seen[owner.UID] = true
		}
	}
	all := append(first, others...)
	if len(all) > mostChecked {
		texts = append(texts, fmt.Sprintf("new PodSecurity enforce level only checked against the first %d of %d existing pods", mostChecked, len(all)))
		all = all[:mostChecked]
	}
	byReason := map[string][]string{}
	for _, p := range all {
		pod := &corev1.Pod{}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(p.Object, pod) != nil {
			continue
		}
		if result := violations(level, pod); !result.Allowed {
			byReason[result.ForbiddenReason()] = append(byReason[result.ForbiddenReason()], p.GetName())
		}
	}
	if len(byReason) == 0 {
		return texts
	}
	var pods []string
	for reason, names := range byReason {
		pods = append(pods, namesOf(names)+": "+reason)
	}
	slices.Sort(pods)
	return append(append(texts, fmt.Sprintf("existing pods in namespace %q violate the new PodSecurity enforce level %q", namespace, level.String())), pods...)
}

// namesOf names the first Pod, and says how many others there are.
func namesOf(names []string) string {
	slices.Sort(names)
	switch n := len(names) - 1; n {
	case 0:
		return names[0]
	case 1:
		return names[0] + " (and 1 other pod)"
	default:
		return strings.TrimSpace(fmt.Sprintf("%s (and %d other pods)", names[0], n))
	}
}
