package validation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

const podText = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

// podUpdate is ValidatePodUpdate of core/validation. In addition, an update may bind a Pod, as the
// scheduler of a lab does.
func podUpdate(f *faults, before, now map[string]any) {
	old, next, path := nested(before, "spec"), nested(now, "spec"), specPath
	if isOnlyBound(old, next) || old["dnsPolicy"] == nil { // it is stored as it was loaded, without its defaults
		return
	}
	for _, name := range []string{"containers", "initContainers"} {
		if !containersStay(f, path.Child(name), list(old[name]), list(next[name])) {
			return
		}
	}
	if !deadlineShrinks(f, path.Child("activeDeadlineSeconds"), old["activeDeadlineSeconds"], next["activeDeadlineSeconds"]) {
		return
	}
	tolerationsStay(f, path.Child("tolerations"), old, next)
	gatesGo(f, path.Child("schedulingGates"), list(old["schedulingGates"]), list(next["schedulingGates"]))
	munged := maps.Clone(next)
	for _, name := range []string{"activeDeadlineSeconds", "tolerations", "schedulingGates"} {
		munged[name] = old[name]
	}
	munged["containers"] = withImagesOf(list(old["containers"]), list(next["containers"]))
	munged["initContainers"] = withImagesOf(list(old["initContainers"]), list(next["initContainers"]))
	if isEmpty(old["nodeName"]) {
		munged["nodeName"] = old["nodeName"]
	}
	if seconds, is := old["terminationGracePeriodSeconds"].(int64); is && seconds < 0 && next["terminationGracePeriodSeconds"] == int64(1) {
		munged["terminationGracePeriodSeconds"] = seconds
	}
	if len(list(old["schedulingGates"])) > 0 {
		directivesOfGated(f, path, old, munged)
	}
	if !alike(old, munged) {
		f.add(field.Forbidden(path, podText))
	}
}

var specPath = field.NewPath("spec")

// isOnlyBound reports whether no more changes than where a Pod runs, which it did not before.
func isOnlyBound(old, next map[string]any) bool {
	for name, v := range next {
		if name != "nodeName" && !object.DeepEqual(v, old[name]) {
			return false
		}
	}
	return isEmpty(old["nodeName"]) && len(next) == len(old)+1
}

func containersStay(f *faults, path *field.Path, old, next []any) bool {
	if len(old) != len(next) {
		f.add(field.Forbidden(path, "pod updates may not add or remove containers"))
		return false
	}
	for i, v := range next {
		m, _ := v.(map[string]any)
		image := text(m["image"])
		if image == "" {
			f.add(field.Required(path.Index(i).Child("image"), ""))
		}
		if strings.TrimSpace(image) != image {
			f.add(field.Invalid(path.Index(i).Child("image"), image, "must not have leading or trailing whitespace"))
		}
	}
	return true
}

// deadlineShrinks reports whether the rest of an update is looked at.
func deadlineShrinks(f *faults, path *field.Path, old, next any) bool {
	before, was := old.(int64)
	now, is := next.(int64)
	switch {
	case is && (now < 0 || now > maxInt32):
		f.add(field.Invalid(path, now, "must be between 0 and 2147483647, inclusive"))
		return false
	case is && was && before < now:
		f.add(field.Invalid(path, now, "must be less than or equal to previous value"))
		return false
	case was && !is:
		f.add(field.Invalid(path, nil, "must not update from a positive integer to nil value"))
	}
	return true
}

func tolerationsStay(f *faults, path *field.Path, old, next map[string]any) {
	for _, v := range list(old["tolerations"]) {
		m, _ := v.(map[string]any)
		isKept := func(v any) bool {
			other, _ := v.(map[string]any)
			other = maps.Clone(other)
			if other["tolerationSeconds"] = m["tolerationSeconds"]; m["tolerationSeconds"] == nil {
				delete(other, "tolerationSeconds")
			}
			return alike(m, other)
		}
		if !slices.ContainsFunc(list(next["tolerations"]), isKept) {
			f.add(field.Forbidden(path, "existing toleration can not be modified except its tolerationSeconds"))
			return
		}
	}
}

func gatesGo(f *faults, path *field.Path, old, next []any) {
	for i, gate := range next {
		if !slices.ContainsFunc(old, func(v any) bool { return object.DeepEqual(v, gate) }) {
			m, _ := gate.(map[string]any)
			f.add(field.Forbidden(path.Index(i).Child("name"), fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%s'", text(m["name"]))))
		}
	}
}

// withImagesOf returns containers with the images of others, which are as many.
func withImagesOf(old, next []any) any {
	all := make([]any, len(next))
	for i, v := range next {
		m, _ := v.(map[string]any)
		before, _ := old[i].(map[string]any)
		m = maps.Clone(m)
		m["image"] = before["image"]
		all[i] = m
	}
	return all
}

// directivesOfGated checks where a Pod with scheduling gates may run, which may become narrower, and
// takes it back.
func directivesOfGated(f *faults, path *field.Path, old, munged map[string]any) {
	selector := nested(munged, "nodeSelector")
	for key, v := range nested(old, "nodeSelector") {
		if selector[key] != v {
			f.add(field.Invalid(path.Child("nodeSelector"), selector, "only additions to spec.nodeSelector are allowed (no mutations or deletions)"))
			break
		}
	}
	munged["nodeSelector"] = old["nodeSelector"]
	before, now := nested(old, "affinity"), maps.Clone(nested(munged, "affinity"))
	narrower(f, path.Child("affinity", "nodeAffinity"), nested(before, "nodeAffinity"), nested(now, "nodeAffinity"))
	if now == nil {
		now = map[string]any{}
	}
	now["nodeAffinity"] = before["nodeAffinity"]
	munged["affinity"] = now
}

func narrower(f *faults, path *field.Path, old, next map[string]any) {
	const required = "requiredDuringSchedulingIgnoredDuringExecution"
	path = path.Child(required, "nodeSelectorTerms")
	before, now := list(nested(old, required)["nodeSelectorTerms"]), list(nested(next, required)["nodeSelectorTerms"])
	if len(before) > 0 && len(before) != len(now) {
		f.add(field.Invalid(path, now, "no additions/deletions to non-empty NodeSelectorTerms list are allowed"))
		return
	}
	for i, v := range before {
		was, _ := v.(map[string]any)
		is, _ := now[i].(map[string]any)
		if !beginsWith(list(is["matchExpressions"]), list(was["matchExpressions"])) || !beginsWith(list(is["matchFields"]), list(was["matchFields"])) {
			f.add(field.Invalid(path.Index(i), is, "only additions are allowed (no mutations or deletions)"))
		}
	}
}

func beginsWith(all, first []any) bool {
	return len(all) >= len(first) && alike(all[:len(first)], first)
}

// alike compares values like the Go types of Kubernetes: a missing value is equal to an empty
// value, to zero and to false.
func alike(a, b any) bool {
	one, isMap := a.(map[string]any)
	other, isOther := b.(map[string]any)
	switch {
	case isMap && (isOther || b == nil):
		return allAlike(one, other) && allAlike(other, one)
	case isOther && a == nil:
		return allAlike(other, nil)
	}
	first, isList := a.([]any)
	second, isSecond := b.([]any)
	if isList && isSecond {
		return slices.EqualFunc(first, second, alike)
	}
	return isNothing(a) && isNothing(b) || object.DeepEqual(a, b)
}

func allAlike(a, b map[string]any) bool {
	for name, v := range a {
		if !alike(v, b[name]) {
			return false
		}
	}
	return true
}

func isNothing(v any) bool { return isEmpty(v) || v == false }
