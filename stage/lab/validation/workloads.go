package validation

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	klabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// templateOf checks a template of Pods whose restart policy is one of some.
func templateOf(policies ...string) check {
	return func(f fieldOf) {
		template, _ := f.value.(map[string]any)
		path := f.path().Child("labels")
		labels(fieldOf{f.faults, path, "", nested(template, "metadata", "labels"), template})
		spec := nested(template, "spec")
		podSpec.check(f.faults, f.path().Child("spec"), spec)
		if policy := text(spec["restartPolicy"]); slices.Contains([]string{"Always", "OnFailure", "Never"}, policy) && !slices.Contains(policies, policy) {
			f.add(field.NotSupported(f.path().Child("spec", "restartPolicy"), policy, policies))
		}
		if policy := text(spec["restartPolicy"]); len(policies) < 3 && policy != "" && !slices.Contains([]string{"Always", "OnFailure", "Never"}, policy) {
			f.add(field.NotSupported(f.path().Child("spec", "restartPolicy"), policy, policies))
		}
		if spec["activeDeadlineSeconds"] != nil && policies[0] == "Always" {
			f.add(field.Forbidden(f.path().Child("spec", "activeDeadlineSeconds"), "activeDeadlineSeconds in ReplicaSet is not Supported"))
		}
	}
}

// podSelector checks the selector of a workload, and that its template has the labels.
//
// A DaemonSet need not have this field. For a wrong one in a StatefulSet the server's message is
// shorter.
func podSelector(emptyText string) check {
	return func(f fieldOf) {
		template := nested(f.within, "template")
		labelsPath := parentField(f.path()).Child("template", "metadata", "labels")
		s := selectorOf(f.value)
		if s == nil && !f.in("DaemonSet") {
			f.add(field.Required(f.path(), ""))
		} else if s != nil {
			selector(f)
			if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
				f.add(field.Invalid(f.path(), s, emptyText))
			}
		}
		read, err := metav1.LabelSelectorAsSelector(s)
		set := texts(nested(template, "metadata", "labels"))
		switch {
		case err != nil && f.in("StatefulSet"):
			f.add(field.Invalid(f.path(), s, ""))
		case err != nil && !f.in("DaemonSet"):
			f.add(field.Invalid(f.path(), s, "invalid label selector"))
		case err != nil:
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
		given("persistentVolumeClaimRetentionPolicy", in(rules{given("whenDeleted", oneOf("Retain", "Delete")), given("whenScaled", oneOf("Retain", "Delete"))})),
		given("replicas", notNegative), given("minReadySeconds", notNegative), given("revisionHistoryLimit", atCreation(notNegative)),
		given("ordinals", in(rules{given("start", notNegative)})),
		given("serviceName", atCreation(label)),
		of("selector", podSelector("empty selector is invalid for statefulset")), of("template", statefulTemplate),
		given("volumeClaimTemplates", atCreation(each(rules{given("spec", in(claimSpec))}))),
	}))}
	replicationController = rules{of("spec", always(rules{
		given("replicas", notNegative), given("minReadySeconds", notNegative), of("selector", required),
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
		given("unhealthyPodEvictionPolicy", mustBe("AlwaysAllow", "IfHealthyBudget")),
	}))}
)

// statefulTemplate checks the template of a StatefulSet, including the volumes of its claims.
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
		volumes = append(slices.DeleteFunc(volumes, isNamed), map[string]any{"name": name, "persistentVolumeClaim": map[string]any{"claimName": name}})
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
		f.add(field.Invalid(f.path().Child("metadata", "labels"), texts(nested(f.within, "template", "metadata", "labels")), "`selector` does not match template `labels`"))
	}
	always1(f)
}

func afterReady(f fieldOf) {
	deadline, said := f.value.(int64)
	ready, _ := f.within["minReadySeconds"].(int64)
	if said && deadline <= ready {
		f.add(field.Invalid(f.path(), deadline, "must be greater than minReadySeconds"))
	}
}

func deploymentStrategy(f fieldOf) {
	strategy, _ := f.value.(map[string]any)
	update := nested(strategy, "rollingUpdate")
	switch text(strategy["type"]) {
	case "Recreate":
		if update != nil {
			f.add(field.Forbidden(f.path().Child("rollingUpdate"), "may not be specified when strategy `type` is 'Recreate'"))
		}
	case "RollingUpdate":
		path := f.path().Child("rollingUpdate")
		rules{given("maxUnavailable", share), given("maxSurge", share)}.check(f.faults, path, update)
		if isZeroShare(update["maxUnavailable"]) && isZeroShare(update["maxSurge"]) {
			f.add(field.Invalid(path.Child("maxUnavailable"), update["maxUnavailable"], "may not be 0 when `maxSurge` is 0"))
		}
		atMostAll(fieldOf{f.faults, path.Child("maxUnavailable"), "", update["maxUnavailable"], update})
	default:
		f.add(field.NotSupported(f.path(), strategy, []string{"Recreate", "RollingUpdate"}))
	}
}

func daemonStrategy(f fieldOf) {
	strategy, _ := f.value.(map[string]any)
	update, path := nested(strategy, "rollingUpdate"), f.path().Child("rollingUpdate")
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
		f.add(field.NotSupported(f.path(), strategy, []string{"RollingUpdate", "OnDelete"}))
	}
}

func managementPolicy(f fieldOf) {
	if s := text(f.value); s != "OrderedReady" && s != "Parallel" {
		f.add(field.Invalid(f.path(), s, "must be 'OrderedReady' or 'Parallel'"))
	}
}

func statefulStrategy(f fieldOf) {
	strategy, _ := f.value.(map[string]any)
	switch kind := text(strategy["type"]); kind {
	case "OnDelete":
		if strategy["rollingUpdate"] != nil {
			f.add(field.Invalid(f.path().Child("rollingUpdate"), strategy["rollingUpdate"], "only allowed for updateStrategy 'RollingUpdate'"))
		}
	case "RollingUpdate":
		rules{given("partition", notNegative)}.check(f.faults, f.path().Child("rollingUpdate"), nested(strategy, "rollingUpdate"))
	default:
		f.add(field.Invalid(f.path(), strategy, "must be 'RollingUpdate' or 'OnDelete'"))
	}
}
