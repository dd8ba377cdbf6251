package validation

import (
	"maps"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// jobUpdate is ValidateJobSpecUpdate of batch/validation beyond its immutable fields.
func jobUpdate(f *faults, before, now map[string]any) {
	old, next, path := nested(before, "spec"), nested(now, "spec"), field.NewPath("spec")
	completions := path.Child("completions")
	switch is, n := next["completionMode"] == "Indexed", next["completions"]; {
	case alike(old["completions"], n):
	case !is:
		f.add(field.Invalid(completions, n, "field is immutable"))
	case n != nil && n != next["parallelism"]:
		f.add(field.Invalid(completions, n, "can only be modified in tandem with spec.parallelism"))
	}
	was, is := nested(old, "template"), nested(next, "template")
	if old["suspend"] == true && isStopped(before) {
		was, is = withoutDirectives(was), withoutDirectives(is)
	}
	if nested(was, "spec")["dnsPolicy"] != nil && !alike(was, is) { // it is stored with its defaults
		f.add(field.Invalid(path.Child("template"), next["template"], "field is immutable"))
	}
}

// isStopped reports whether a Job that is suspended has no Pods (shouldAllowMutablePodTemplate of
// registry/batch/job).
func isStopped(job map[string]any) bool {
	status := nested(job, "status")
	isSuspended := func(v any) bool {
		m, _ := v.(map[string]any)
		return m["type"] == "Suspended" && m["status"] == "True"
	}
	return isEmpty(status["active"]) && (status["startTime"] == nil || slices.ContainsFunc(list(status["conditions"]), isSuspended))
}

// withoutDirectives is the template of a Job without the fields that may change while the Job is
// suspended: node placement, resources, labels and annotations of its Pods.
func withoutDirectives(template map[string]any) map[string]any {
	spec := maps.Clone(nested(template, "spec"))
	for _, name := range []string{"nodeSelector", "tolerations", "schedulingGates"} {
		delete(spec, name)
	}
	if affinity := maps.Clone(nested(spec, "affinity")); affinity != nil {
		delete(affinity, "nodeAffinity")
		spec["affinity"] = affinity
	}
	for _, kind := range []string{"containers", "initContainers"} {
		containers := slices.Clone(list(spec[kind]))
		for i, v := range containers {
			m, _ := v.(map[string]any)
			m = maps.Clone(m)
			delete(m, "resources")
			containers[i] = m
		}
		spec[kind] = containers
	}
	return map[string]any{"spec": spec}
}

// nodeUpdate is ValidateNodeUpdate of core/validation.
func nodeUpdate(f *faults, before, now map[string]any) {
	old, next, path := nested(before, "spec"), nested(now, "spec"), field.NewPath("spec")
	if !isEmpty(old["podCIDRs"]) && !alike(old["podCIDRs"], next["podCIDRs"]) {
		f.add(field.Forbidden(path.Child("podCIDRs"), `node updates may not change podCIDR except from "" to valid`))
	}
	if !isEmpty(old["providerID"]) && old["providerID"] != next["providerID"] {
		f.add(field.Forbidden(path.Child("providerID"), `node updates may not change providerID except from "" to valid`))
	}
}

// serviceUpdate is ValidateServiceUpdate of core/validation.
func serviceUpdate(f *faults, before, now map[string]any) {
	old, next, path := nested(before, "spec"), nested(now, "spec"), field.NewPath("spec")
	isHeadless := func(spec map[string]any) bool {
		ips := list(spec["clusterIPs"])
		return len(ips) == 1 && ips[0] == "None"
	}
	if old["type"] != "ExternalName" && next["type"] != "ExternalName" {
		if !isHeadless(old) || !isHeadless(next) {
			addressesStay(f, path.Child("clusterIPs"), list(old["clusterIPs"]), next, "clusterIP")
		}
		if !isHeadless(old) && !isHeadless(next) {
			addressesStay(f, path.Child("ipFamilies"), list(old["ipFamilies"]), next, "ipFamily")
		}
	}
	if old["type"] == "LoadBalancer" && next["type"] == "LoadBalancer" && !alike(old["loadBalancerClass"], next["loadBalancerClass"]) {
		f.add(field.Invalid(path.Child("loadBalancerClass"), next["loadBalancerClass"], "may not change once set"))
	}
	needsCheck := func(spec map[string]any) bool {
		return spec["type"] == "LoadBalancer" && spec["externalTrafficPolicy"] == "Local"
	}
	if needsCheck(old) && needsCheck(next) && !alike(old["healthCheckNodePort"], next["healthCheckNodePort"]) {
		f.add(field.Forbidden(path.Child("healthCheckNodePort"), "field is immutable"))
	}
}

// addressesStay refuses a change of the first address or family of a Service. It also refuses to
// remove the second one while two are requested.
func addressesStay(f *faults, path *field.Path, old []any, spec map[string]any, what string) {
	next := list(spec["clusterIPs"])
	if what == "ipFamily" {
		next = list(spec["ipFamilies"])
	}
	for i, v := range old[:min(len(old), len(next))] {
		if !isAddressOf(what, text(next[i])) { // the server looks at that first
			continue
		}
		if v != next[i] && (i == 0 || len(old) == len(next)) {
			at := i
			if what == "ipFamily" {
				at = 0
			}
			f.add(field.Invalid(path.Index(at), next, "may not change once set"))
		}
	}
	if len(old) <= len(next) {
		return
	}
	if len(list(spec["clusterIPs"])) == 0 {
		f.add(field.Invalid(path.Index(0), spec[path.String()[len("spec."):]], "primary "+what+" can not be unset"))
	}
	if policy := spec["ipFamilyPolicy"]; len(next) == 1 && policy != "SingleStack" {
		f.add(field.Invalid(field.NewPath("spec", "ipFamilyPolicy"), policy, "must be set to 'SingleStack' when releasing the secondary "+what))
	}
}

// volumeUpdate is ValidatePersistentVolumeUpdate of core/validation.
func volumeUpdate(f *faults, before, now map[string]any) {
	old, next := nested(before, "spec"), nested(now, "spec")
	was, is := sourceOfVolume(old), sourceOfVolume(next)
	if csi := nested(is, "csi"); csi["controllerExpandSecretRef"] != nil && nested(was, "csi")["controllerExpandSecretRef"] == nil {
		csi = maps.Clone(csi)
		delete(csi, "controllerExpandSecretRef")
		is["csi"] = csi
	}
	if !alike(was, is) {
		f.add(field.Forbidden(field.NewPath("spec", "persistentvolumesource"), "spec.persistentvolumesource is immutable after creation"))
	}
	if old["volumeMode"] != nil && !alike(old["volumeMode"], next["volumeMode"]) {
		f.add(field.Invalid(field.NewPath("volumeMode"), next["volumeMode"], "field is immutable"))
	}
	if old["nodeAffinity"] != nil && !alike(old["nodeAffinity"], next["nodeAffinity"]) {
		f.add(field.Invalid(field.NewPath("nodeAffinity"), next["nodeAffinity"], "field is immutable, except for updating from beta label to GA"))
	}
	if old["volumeAttributesClassName"] != nil && next["volumeAttributesClassName"] == nil {
		f.add(field.Forbidden(field.NewPath("spec", "volumeAttributesClassName"), "update from non-nil value to nil is forbidden"))
	}
}

func sourceOfVolume(spec map[string]any) map[string]any {
	source := map[string]any{}
	for name, v := range spec {
		if isVolumeSource(name) {
			source[name] = v
		}
	}
	return source
}

// claimUpdate is ValidatePersistentVolumeClaimUpdate of core/validation.
func claimUpdate(f *faults, before, now map[string]any) {
	old, next, path := nested(before, "spec"), nested(now, "spec"), field.NewPath("spec")
	was, is := maps.Clone(old), maps.Clone(next)
	if isEmpty(old["volumeName"]) {
		was["volumeName"] = next["volumeName"]
	}
	if old["volumeMode"] == nil { // it is stored without its defaults
		was["volumeMode"] = next["volumeMode"]
	}
	if old["storageClassName"] == nil { // the class is the default class, once one exists
		was["storageClassName"] = next["storageClassName"]
	}
	if nested(now, "status")["phase"] == "Bound" {
		was["volumeAttributesClassName"], is["resources"] = is["volumeAttributesClassName"], withStorage(nested(next, "resources"), nested(old, "resources", "requests")["storage"])
	}
	if !alike(was, is) {
		f.add(field.Forbidden(path, "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"))
	}
	asked, isAsked := quantity(nested(next, "resources", "requests")["storage"])
	given, _ := quantity(nested(now, "status", "capacity")["storage"])
	if least, ok := quantity(nested(old, "resources", "requests")["storage"]); ok && (!isAsked || asked.Cmp(least) < 0) && asked.Cmp(given) <= 0 {
		f.add(field.Forbidden(path.Child("resources", "requests", "storage"), "field can not be less than status.capacity"))
	}
	if old["volumeMode"] != nil && !alike(old["volumeMode"], next["volumeMode"]) {
		f.add(field.Invalid(field.NewPath("volumeMode"), next["volumeMode"], "field is immutable"))
	}
}

func withStorage(resources map[string]any, storage any) map[string]any {
	if nested(resources, "requests") == nil {
		return resources
	}
	resources = maps.Clone(resources)
	requests := maps.Clone(nested(resources, "requests"))
	requests["storage"] = storage
	resources["requests"] = requests
	return resources
}

// quotaUpdate is ValidateResourceQuotaUpdate of core/validation.
func quotaUpdate(f *faults, before, now map[string]any) {
	old, next := list(nested(before, "spec")["scopes"]), list(nested(now, "spec")["scopes"])
	isIn := func(all []any, v any) bool { return slices.Contains(all, v) }
	for _, pair := range [][2][]any{{old, next}, {next, old}} {
		if slices.ContainsFunc(pair[0], func(v any) bool { return !isIn(pair[1], v) }) {
			f.add(field.Invalid(field.NewPath("spec", "scopes"), next, "field is immutable"))
			return
		}
	}
}

// priorityUpdate is ValidatePriorityClassUpdate of scheduling/validation.
func priorityUpdate(f *faults, before, now map[string]any) {
	if !alike(before["value"], now["value"]) {
		f.add(field.Forbidden(field.NewPath("value"), "may not be changed in an update."))
	}
}

// csiNodeUpdate is ValidateCSINodeUpdate of storage/validation.
func csiNodeUpdate(f *faults, before, now map[string]any) {
	for _, v := range list(nested(before, "spec")["drivers"]) {
		old, _ := v.(map[string]any)
		for _, v := range list(nested(now, "spec")["drivers"]) {
			next, _ := v.(map[string]any)
			was, is := maps.Clone(old), maps.Clone(next)
			delete(was, "allocatable")
			delete(is, "allocatable")
			if old["name"] == next["name"] && !alike(was, is) {
				f.add(field.Invalid(field.NewPath("spec", "drivers"), next, "field is immutable"))
			}
		}
	}
}

// csiDriverUpdate is ValidateCSIDriverUpdate of storage/validation.
func csiDriverUpdate(f *faults, before, now map[string]any) {
	old, next, path := nested(before, "spec"), nested(now, "spec"), field.NewPath("spec")
	if old["attachRequired"] != nil && !object.DeepEqual(old["attachRequired"], next["attachRequired"]) {
		f.add(field.Invalid(path.Child("attachedRequired"), next["attachRequired"], "field is immutable")) // as the server says it
	}
	if old["volumeLifecycleModes"] != nil && !alike(old["volumeLifecycleModes"], next["volumeLifecycleModes"]) {
		f.add(field.Invalid(path.Child("volumeLifecycleModes"), next["volumeLifecycleModes"], "field is immutable"))
	}
}

// cidrUpdate is ValidateServiceCIDRUpdate of networking/validation.
func cidrUpdate(f *faults, before, now map[string]any) {
	old, next, path := list(nested(before, "spec")["cidrs"]), list(nested(now, "spec")["cidrs"]), field.NewPath("spec", "cidrs")
	if len(old) != len(next) && (len(old) != 1 || len(next) != 2) {
		f.add(field.Invalid(path, next, "field is immutable"))
		return
	}
	for i, v := range old {
		if v != next[i] {
			f.add(field.Invalid(path.Index(i), next[i], "field is immutable"))
		}
	}
	if len(next) > len(old) {
		networks(fieldOf{f, path, "", next, nested(now, "spec")})
	}
}

// roleRefUpdate is ValidateRoleBindingUpdate of rbac/validation.
func roleRefUpdate(f *faults, before, now map[string]any) {
	if !alike(before["roleRef"], now["roleRef"]) {
		f.add(field.Invalid(field.NewPath("roleRef"), now["roleRef"], "cannot change roleRef"))
	}
}

func isAddressOf(what, s string) bool {
	_, err := netip.ParseAddr(s)
	return s == "None" || s == "IPv4" || s == "IPv6" || what == "clusterIP" && err == nil
}
