package validation

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	klabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	byHand  = templateOf("OnFailure", "Never")
	jobSpec = rules{
		given("parallelism", notNegative), given("completions", notNegative), given("activeDeadlineSeconds", notNegative), given("backoffLimit", notNegative), given("ttlSecondsAfterFinished", notNegative),
		given("backoffLimitPerIndex", notNegative), given("maxFailedIndexes", notNegative), given("completionMode", mustBe("NonIndexed", "Indexed")), of("", indexed),
		given("podFailurePolicy", in(rules{given("rules", each(failureRule))})),
		given("podReplacementPolicy", replacement),
		of("template", jobTemplate),
	}
	job     = rules{of("", jobSelector), of("spec", always(jobSpec)), of("", indexedNames)}
	cronJob = rules{of("", shortName), of("spec", always(rules{
		of("schedule", required, schedule), given("timeZone", timeZone), given("startingDeadlineSeconds", notNegative),
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
	path := f.path().Child("spec", "restartPolicy")
	spec := nested(template, "spec")
	if policy := text(spec["restartPolicy"]); policy == "" || policy == "Always" {
		f.add(field.Required(path, `valid values: "OnFailure", "Never"`))
		byAll(f)
		return
	}
	byHand(f)
	if nested(f.within, "podFailurePolicy") != nil && text(spec["restartPolicy"]) == "OnFailure" {
		f.add(field.Invalid(path, text(spec["restartPolicy"]), `only "Never" is supported when podFailurePolicy is specified`))
	}
}

var byAll = templateOf("OnFailure", "Never", "Always")

// jobSelector checks the selector that is made for a Job, or the selector that the Job brings
// (validateGeneratedSelector and ValidateJobSpec of batch/validation).
func jobSelector(f fieldOf) {
	spec, path := nested(f.within, "spec"), field.NewPath("spec")
	given, _ := nested(spec, "template", "metadata")["labels"].(map[string]any)
	if spec["manualSelector"] != true && spec["selector"] != nil {
		generatedLabels(f, path, spec, given)
	}
	s := selectorOf(spec["selector"])
	if s == nil {
		f.add(field.Required(path.Child("selector"), ""))
	} else {
		selector(fieldOf{f.faults, path.Child("selector"), "", spec["selector"], spec})
	}
	if read, err := metav1.LabelSelectorAsSelector(s); err == nil && !read.Matches(klabels.Set(texts(given))) {
		f.add(field.Invalid(path.Child("template", "metadata", "labels"), given, "`selector` does not match template `labels`"))
	}
}

// generatedLabels are the labels of the Pods of a Job, including the labels of old versions.
func generatedLabels(f fieldOf, path *field.Path, spec, given map[string]any) {
	uid := text(nested(f.within, "metadata")["uid"])
	want := klabels.Set{"controller-uid": uid, "job-name": f.object, "batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": f.object}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		value := want[name]
		at := path.Child("template", "metadata", "labels").Key(name)
		old := nested(f.before, "spec", "template", "metadata", "labels")
		switch v, is := given[name]; {
		case f.before != nil && strings.Contains(name, "/") && (old["job-name"] == nil || old["controller-uid"] == nil): // of an old server
		case !is:
			f.add(field.Required(at, fmt.Sprintf("must be '%s'", value)))
		case v != value:
			f.add(field.Invalid(at, given, fmt.Sprintf("must be '%s'", value)))
		}
	}
	if read, err := metav1.LabelSelectorAsSelector(selectorOf(spec["selector"])); err == nil && !read.Matches(want) {
		f.add(field.Invalid(path.Child("selector"), spec["selector"], "`selector` not auto-generated"))
	}
}

// replacement checks when Pods of a Job are replaced, which a failure policy decides.
func replacement(f fieldOf) {
	if f.within["podFailurePolicy"] != nil {
		mustBe("Failed")(f)
		return
	}
	mustBe("Failed", "TerminatingOrFailed")(f)
}

func indexed(f fieldOf) {
	completions, hasCompletions := f.within["completions"].(int64)
	parallelism, _ := f.within["parallelism"].(int64)
	isIndexed := text(f.within["completionMode"]) == "Indexed"
	failed, hasFailed := f.within["maxFailedIndexes"].(int64)
	perIndex := f.within["backoffLimitPerIndex"]
	limit := func(name string, n, most int64, message string) {
		if n > most {
			f.add(field.Invalid(f.path().Child(name), n, message))
		}
	}
	if mode := f.within["completionMode"]; mode == nil || mode == "NonIndexed" {
		for _, name := range []string{"backoffLimitPerIndex", "maxFailedIndexes"} {
			if f.within[name] != nil {
				f.add(field.Invalid(f.path().Child(name), f.within[name], "requires indexed completion mode"))
			}
		}
	}
	if !isIndexed {
		return
	}
	if !hasCompletions {
		f.add(field.Required(f.path().Child("completions"), "when completion mode is Indexed"))
	}
	const most = 100000
	limit("parallelism", parallelism, most, fmt.Sprintf("must be less than or equal to %d when completion mode is Indexed", most))
	if hasFailed && perIndex == nil {
		f.add(field.Required(f.path().Child("backoffLimitPerIndex"), "when maxFailedIndexes is specified"))
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
		f.add(field.Invalid(f.path(), field.OmitValueType{}, "specifying both OnExitCodes and OnPodConditions is not supported"))
	case !codes && !conditions:
		f.add(field.Invalid(f.path(), field.OmitValueType{}, "specifying one of OnExitCodes and OnPodConditions is required"))
	}
}

func exitCodes(f fieldOf) {
	if len(list(f.value)) == 0 {
		f.add(field.Invalid(f.path(), nil, "at least one value is required"))
	}
	for i, v := range list(f.value) {
		if text(f.within["operator"]) == "In" && v == int64(0) {
			f.add(field.Invalid(f.path().Index(i), v, "must not be 0 for the In operator"))
		}
	}
	distinct(f)
}

func timeZone(f fieldOf) {
	s, said := f.value.(string)
	switch {
	case !said:
	case s == "":
		f.add(field.Invalid(f.path(), s, "timeZone must be nil or non-empty string"))
	case !isZone(s):
		f.add(field.Invalid(f.path(), s, "unknown time zone "+s))
	case strings.EqualFold(s, "Local"):
		f.add(field.Invalid(f.path(), s, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"))
	default:
		if _, err := time.LoadLocation(s); err != nil {
			f.add(field.Invalid(f.path(), s, err.Error()))
		}
	}
}

var zonePart = regexp.MustCompile(`^[A-Za-z.\-_0-9+]{1,14}$`)

func isZone(s string) bool {
	for part := range strings.SplitSeq(s, "/") {
		if part == "." || part == ".." || strings.HasPrefix(part, "-") || !zonePart.MatchString(part) {
			return false
		}
	}
	return true
}

// shortName leaves room for the suffix in the names of the Jobs of a CronJob.
func shortName(f fieldOf) {
	const most = 52
	if len(f.object) > most && f.before == nil {
		f.add(field.Invalid(field.NewPath("metadata", "name"), f.object, fmt.Sprintf("must be no more than %d characters", most)))
	}
}

// indexedNames leaves room for the index at the end of the hostname of a Pod.
func indexedNames(f fieldOf) {
	spec := nested(f.within, "spec")
	n, _ := spec["completions"].(int64)
	if spec["completionMode"] != "Indexed" || n <= 0 || f.before != nil {
		return
	}
	last := fmt.Sprintf("%s-%d", f.object, n-1)
	if len(validation.IsDNS1123Label(last)) > 0 {
		f.add(field.Invalid(field.NewPath("metadata", "name"), f.object, "will not able to create pod with invalid DNS label: "+last))
	}
}
