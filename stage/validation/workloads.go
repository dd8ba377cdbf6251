package validation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	klabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// templateOf checks a template of Pods whose restart policy is one of some.
func templateOf(policies ...string) check {
	return func(f fieldOf) {
		template, _ := f.value.(map[string]any)
		path := f.path.Child("labels")
		labels(fieldOf{f.faults, path, nested(template, "metadata", "labels"), template})
		spec := nested(template, "spec")
		podSpec.check(f.faults, f.path.Child("spec"), spec)
		if policy := text(spec["restartPolicy"]); slices.Contains([]string{"Always", "OnFailure", "Never"}, policy) && !slices.Contains(policies, policy) {
			f.add(field.NotSupported(f.path.Child("spec", "restartPolicy"), policy, policies))
		}
		if policy := text(spec["restartPolicy"]); policy != "" && !slices.Contains([]string{"Always", "OnFailure", "Never"}, policy) {
			f.add(field.NotSupported(f.path.Child("spec", "restartPolicy"), policy, policies))
		}
		if spec["activeDeadlineSeconds"] != nil && policies[0] == "Always" {
			f.add(field.Forbidden(f.path.Child("spec", "activeDeadlineSeconds"), "activeDeadlineSeconds in ReplicaSet is not Supported"))
		}
	}
}

// podSelector checks the selector of a workload, and that its template has the labels.
func podSelector(emptyText string) check {
	return func(f fieldOf) {
		template := nested(f.within, "template")
		labelsPath := parentField(f.path).Child("template", "metadata", "labels")
		s := selectorOf(f.value)
		if s == nil {
			f.add(field.Required(f.path, ""))
		} else {
			selector(f)
			if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
				f.add(field.Invalid(f.path, s, emptyText))
			}
		}
		read, err := metav1.LabelSelectorAsSelector(s)
		set := texts(nested(template, "metadata", "labels"))
		switch {
		case err != nil:
			f.add(field.Invalid(f.path, s, "invalid label selector"))
		case !read.Empty() && !read.Matches(klabels.Set(set)) || s == nil:
			f.add(field.Invalid(labelsPath, nested(template, "metadata", "labels"), "`selector` does not match template `labels`"))
		}
	}
}

var (
	always1    = templateOf("Always")
	deployment = rules{of("spec", always(rules{
		given("replicas", notNegative),
		of("selector", podSelector("empty selector is invalid for deployment")),
		of("template", always1),
		of("strategy", deploymentStrategy),
		given("minReadySeconds", notNegative), given("revisionHistoryLimit", notNegative), given("progressDeadlineSeconds", notNegative, afterReady),
	}))}
	replicaSet = rules{of("spec", always(rules{
		given("replicas", notNegative), given("minReadySeconds", notNegative),
		of("selector", podSelector("empty selector is invalid for deployment")), of("template", always1),
	}))}
	daemonSet = rules{of("spec", always(rules{
		of("selector", podSelector("empty selector is invalid for daemonset")), of("template", always1),
		given("minReadySeconds", notNegative), given("revisionHistoryLimit", notNegative), of("updateStrategy", daemonStrategy),
	}))}
	statefulSet = rules{of("spec", always(rules{
		of("podManagementPolicy", managementPolicy), of("updateStrategy", statefulStrategy),
		given("persistentVolumeClaimRetentionPolicy", in(rules{given("whenDeleted", oneOf("Delete", "Retain")), given("whenScaled", oneOf("Delete", "Retain"))})),
		given("replicas", notNegative), given("minReadySeconds", notNegative), given("revisionHistoryLimit", notNegative),
		given("ordinals", in(rules{given("start", notNegative)})),
		given("serviceName", label),
		of("selector", podSelector("empty selector is invalid for statefulset")), of("template", statefulTemplate),
		given("volumeClaimTemplates", each(rules{given("spec", in(claimSpec))})),
	}))}
	replicationController = rules{of("spec", always(rules{
		given("replicas", notNegative), given("minReadySeconds", notNegative), of("selector", required, labels),
		of("template", required, templateOrNothing),
	}))}
	autoscaler = rules{of("spec", always(rules{
		of("", replicaBounds),
		of("scaleTargetRef", always(rules{of("kind", required), of("name", required)}), targetVersion),
		given("metrics", each(metric)),
		given("behavior", in(rules{given("scaleUp", in(scaling)), given("scaleDown", in(scaling))})),
	}))}
	scaling = rules{
		given("policies", each(rules{
			of("type", mustBe("Percent", "Pods")), given("value", aboveZero), given("periodSeconds", aboveZero, between(-1<<62, 1800, "must be less than or equal to 1800")),
		})),
		given("stabilizationWindowSeconds", notNegative, between(-1<<62, 3600, "must be less than or equal to 3600")), given("selectPolicy", oneOf("Disabled", "Max", "Min")),
	}
	budget = rules{of("spec", always(rules{
		of("", oneOfShares), given("minAvailable", share, atMostAll), given("maxUnavailable", share, atMostAll), given("selector", selector),
		given("unhealthyPodEvictionPolicy", oneOf("AlwaysAllow", "IfHealthyBudget")),
	}))}
)

// statefulTemplate checks the template of a StatefulSet, which has volumes of its claims, too.
func statefulTemplate(f fieldOf) {
	template, _ := f.value.(map[string]any)
	spec := maps.Clone(nested(template, "spec"))
	if spec == nil {
		always1(f)
		return
	}
	volumes := slices.Clone(list(spec["volumes"]))
	for _, v := range list(f.within["volumeClaimTemplates"]) {
		m, _ := v.(map[string]any)
		name := nested(m, "metadata")["name"]
		isNamed := func(v any) bool { m, _ := v.(map[string]any); return m["name"] == name }
		volumes = append(slices.DeleteFunc(volumes, isNamed), map[string]any{"name": name, "emptyDir": map[string]any{}})
	}
	spec["volumes"] = volumes
	template = maps.Clone(template)
	template["spec"] = spec
	f.value = template
	always1(f)
}

func templateOrNothing(f fieldOf) {
	if f.value == nil {
		return
	}
	if s := texts(f.within["selector"]); len(s) > 0 && !klabels.SelectorFromSet(s).Matches(klabels.Set(texts(nested(f.within, "template", "metadata", "labels")))) {
		f.add(field.Invalid(f.path.Child("metadata", "labels"), texts(nested(f.within, "template", "metadata", "labels")), "`selector` does not match template `labels`"))
	}
	always1(f)
}

func afterReady(f fieldOf) {
	deadline, said := f.value.(int64)
	ready, _ := f.within["minReadySeconds"].(int64)
	if said && deadline <= ready {
		f.add(field.Invalid(f.path, deadline, "must be greater than minReadySeconds"))
	}
}

func deploymentStrategy(f fieldOf) {
	strategy, _ := f.value.(map[string]any)
	update := nested(strategy, "rollingUpdate")
	switch text(strategy["type"]) {
	case "Recreate":
		if update != nil {
			f.add(field.Forbidden(f.path.Child("rollingUpdate"), "may not be specified when strategy `type` is 'Recreate'"))
		}
	case "RollingUpdate":
		path := f.path.Child("rollingUpdate")
		rules{given("maxUnavailable", share), given("maxSurge", share)}.check(f.faults, path, update)
		if isZeroShare(update["maxUnavailable"]) && isZeroShare(update["maxSurge"]) {
			f.add(field.Invalid(path.Child("maxUnavailable"), update["maxUnavailable"], "may not be 0 when `maxSurge` is 0"))
		}
		atMostAll(fieldOf{f.faults, path.Child("maxUnavailable"), update["maxUnavailable"], update})
	default:
		f.add(field.NotSupported(f.path, strategy, []string{"Recreate", "RollingUpdate"}))
	}
}

func daemonStrategy(f fieldOf) {
	strategy, _ := f.value.(map[string]any)
	update, path := nested(strategy, "rollingUpdate"), f.path.Child("rollingUpdate")
	switch text(strategy["type"]) {
	case "OnDelete":
	case "RollingUpdate":
		rules{given("maxUnavailable", share, atMostAll), given("maxSurge", share, atMostAll)}.check(f.faults, path, update)
		unavailable, surge := isZeroShare(update["maxUnavailable"]), isZeroShare(update["maxSurge"])
		switch {
		case unavailable && surge:
			f.add(field.Required(path.Child("maxUnavailable"), "cannot be 0 when maxSurge is 0"))
		case !unavailable && !surge:
			f.add(field.Invalid(path.Child("maxSurge"), update["maxSurge"], "may not be set when maxUnavailable is non-zero"))
		}
	default:
		f.add(field.NotSupported(f.path, strategy, []string{"OnDelete", "RollingUpdate"}))
	}
}

func managementPolicy(f fieldOf) {
	if s := text(f.value); s != "OrderedReady" && s != "Parallel" {
		f.add(field.Invalid(f.path, s, "must be 'OrderedReady' or 'Parallel'"))
	}
}

func statefulStrategy(f fieldOf) {
	strategy, _ := f.value.(map[string]any)
	switch kind := text(strategy["type"]); kind {
	case "OnDelete":
		if strategy["rollingUpdate"] != nil {
			f.add(field.Invalid(f.path.Child("rollingUpdate"), strategy["rollingUpdate"], "only allowed for updateStrategy 'RollingUpdate'"))
		}
	case "RollingUpdate":
		rules{given("partition", notNegative)}.check(f.faults, f.path.Child("rollingUpdate"), nested(strategy, "rollingUpdate"))
	default:
		f.add(field.Invalid(f.path, strategy, "must be 'RollingUpdate' or 'OnDelete'"))
	}
}

var (
	byHand  = templateOf("OnFailure", "Never")
	jobSpec = rules{
		given("parallelism", notNegative), given("completions", notNegative), given("activeDeadlineSeconds", notNegative), given("backoffLimit", notNegative), given("ttlSecondsAfterFinished", notNegative),
		given("backoffLimitPerIndex", notNegative), given("maxFailedIndexes", notNegative), given("completionMode", oneOf("Indexed", "NonIndexed")), of("", indexed),
		given("podFailurePolicy", in(rules{given("rules", each(failureRule))})),
		given("podReplacementPolicy", oneOf("Failed", "TerminatingOrFailed")),
		of("template", jobTemplate),
	}
	job     = rules{of("spec", always(rules{of("", jobSelector)}), always(jobSpec))}
	cronJob = rules{of("spec", always(rules{
		of("schedule", required), given("timeZone", timeZone), given("startingDeadlineSeconds", notNegative),
		given("concurrencyPolicy", oneOf("Allow", "Forbid", "Replace")), given("successfulJobsHistoryLimit", notNegative), given("failedJobsHistoryLimit", notNegative),
		of("jobTemplate", always(rules{of("spec", always(jobSpec))})),
	}))}
	failureRule = rules{
		of("action", requiredFor(`valid values: ["Count" "FailIndex" "FailJob" "Ignore"]`), oneOf("Count", "FailIndex", "FailJob", "Ignore")),
		of("", oneRequirement),
		given("onExitCodes", in(rules{
			of("operator", requiredFor(`valid values: ["In" "NotIn"]`), oneOf("In", "NotIn")), of("values", exitCodes),
		})),
		given("onPodConditions", each(rules{of("type", nonEmptyQualified), given("status", oneOf("False", "True", "Unknown"))})),
	}
)

func jobTemplate(f fieldOf) {
	template, _ := f.value.(map[string]any)
	path := f.path.Child("spec", "restartPolicy")
	spec := nested(template, "spec")
	if policy := text(spec["restartPolicy"]); policy == "" || policy == "Always" {
		f.add(field.Required(path, `valid values: "OnFailure", "Never"`))
		byAll(f)
		return
	}
	byHand(f)
	if nested(f.within, "podFailurePolicy") != nil && text(spec["restartPolicy"]) != "Never" {
		f.add(field.Invalid(path, text(spec["restartPolicy"]), `only "Never" is supported when podFailurePolicy is specified`))
	}
}

var byAll = templateOf("OnFailure", "Never", "Always")

// jobSelector checks the selector that is made for a Job, or that which it brings.
func jobSelector(f fieldOf) {
	if f.within["selector"] == nil {
		f.add(field.Required(f.path.Child("selector"), ""))
		return
	}
	selector(fieldOf{f.faults, f.path.Child("selector"), f.within["selector"], f.within})
}

func indexed(f fieldOf) {
	completions, hasCompletions := f.within["completions"].(int64)
	parallelism, _ := f.within["parallelism"].(int64)
	isIndexed := text(f.within["completionMode"]) == "Indexed"
	failed, hasFailed := f.within["maxFailedIndexes"].(int64)
	perIndex := f.within["backoffLimitPerIndex"]
	limit := func(name string, n, most int64, message string) {
		if n > most {
			f.add(field.Invalid(f.path.Child(name), n, message))
		}
	}
	if !isIndexed {
		for _, name := range []string{"backoffLimitPerIndex", "maxFailedIndexes"} {
			if f.within[name] != nil {
				f.add(field.Invalid(f.path.Child(name), f.within[name], "requires indexed completion mode"))
			}
		}
		return
	}
	if !hasCompletions {
		f.add(field.Required(f.path.Child("completions"), "when completion mode is Indexed"))
	}
	const most = 100000
	limit("parallelism", parallelism, most, fmt.Sprintf("must be less than or equal to %d when completion mode is Indexed", most))
	if hasFailed && perIndex == nil {
		f.add(field.Required(f.path.Child("backoffLimitPerIndex"), "when maxFailedIndexes is specified"))
	}
	if hasFailed && hasCompletions {
		limit("maxFailedIndexes", failed, completions, "must be less than or equal to completions")
	}
	if hasFailed {
		limit("maxFailedIndexes", failed, most, fmt.Sprintf("must be less than or equal to %d", most))
	}
}

func oneRequirement(f fieldOf) {
	codes, conditions := f.within["onExitCodes"] != nil, len(list(f.within["onPodConditions"])) > 0
	switch {
	case codes && conditions:
		f.add(field.Invalid(f.path, "", "specifying both OnExitCodes and OnPodConditions is not supported"))
	case !codes && !conditions:
		f.add(field.Invalid(f.path, "", "specifying one of OnExitCodes and OnPodConditions is required"))
	}
}

func exitCodes(f fieldOf) {
	if len(list(f.value)) == 0 {
		f.add(field.Invalid(f.path, nil, "at least one value is required"))
	}
	for i, v := range list(f.value) {
		if text(f.within["operator"]) == "In" && v == int64(0) {
			f.add(field.Invalid(f.path.Index(i), v, "must not be 0 for the In operator"))
		}
	}
	distinct(f)
}

func timeZone(f fieldOf) {
	s, said := f.value.(string)
	switch {
	case !said:
	case s == "":
		f.add(field.Invalid(f.path, s, "timeZone must be nil or non-empty string"))
	case strings.EqualFold(s, "Local"):
		f.add(field.Invalid(f.path, s, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"))
	default:
		if _, err := time.LoadLocation(s); err != nil {
			f.add(field.Invalid(f.path, s, err.Error()))
		}
	}
}
