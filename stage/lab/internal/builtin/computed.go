package builtin

import (
	"math"
	"regexp"
	"slices"
	"strings"
)

// A compute returns the value of a field that is missing in an object, or nil if the field stays
// missing. byDefault is the value in an object that has nothing else, or nil without one.
type compute func(obj map[string]any, byDefault any) any

// computed are the fields whose values depend on other fields, by type. The numbers are those of
// the functions SetDefaults_… in k8s.io/kubernetes/pkg/apis.
var computed = map[string]map[string]compute{
	"Container":               {"imagePullPolicy": pullPolicy("image")},
	"EphemeralContainer":      {"imagePullPolicy": pullPolicy("image")},
	"ImageVolumeSource":       {"pullPolicy": pullPolicy("reference")},
	"Volume":                  {"emptyDir": unlessMoreThan("name")},
	"DeploymentStrategy":      {"rollingUpdate": when("type", "", "RollingUpdate")},
	"DaemonSetUpdateStrategy": {"rollingUpdate": when("type", "", "RollingUpdate")},
	// a strategy that says RollingUpdate is complete
	"StatefulSetUpdateStrategy": {"rollingUpdate": when("type", "")},
	"JobSpec": {
		"completions":          unless("parallelism", nil),
		"backoffLimit":         unless("backoffLimitPerIndex", int64(math.MaxInt32)),
		"podReplacementPolicy": unless("podFailurePolicy", "Failed"),
	},
	"ServicePort": {"targetPort": portItself},
	"ServiceSpec": {
		"internalTrafficPolicy":         when("type", "", "ClusterIP", "NodePort", "LoadBalancer"),
		"allocateLoadBalancerNodePorts": valueWhen(true, "type", "LoadBalancer"),
		"externalTrafficPolicy":         trafficFromOutside,
	},
	"NetworkPolicySpec":  {"policyTypes": policyTypes},
	"Subject":            {"apiGroup": groupOfSubject},
	"ExactDeviceRequest": {"count": when("allocationMode", "", "ExactCount")},
	"DeviceSubRequest":   {"count": when("allocationMode", "", "ExactCount")},
	"PodSpec":            {"serviceAccountName": copyOf("serviceAccount")},
	"NodeStatus":         {"allocatable": copyOf("capacity")},
}

// zeroIsMissing are fields of computed that also count as missing if they are "" or 0.
var zeroIsMissing = map[string]bool{"targetPort": true, "apiGroup": true, "count": true, "externalTrafficPolicy": true, "serviceAccountName": true}

// conditions say when something is filled in in a field, by type and field.
var conditions = map[string]func(map[string]any) bool{
	"DeploymentStrategy.rollingUpdate":        isIn("type", "RollingUpdate"),
	"DaemonSetUpdateStrategy.rollingUpdate":   isIn("type", "RollingUpdate"),
	"StatefulSetUpdateStrategy.rollingUpdate": isIn("type", "RollingUpdate"),
}

func isIn(field string, values ...string) func(map[string]any) bool {
	return func(obj map[string]any) bool { return slices.Contains(values, text(obj[field])) }
}

// when is the default if a field has one of the values; "" means a missing field.
func when(field string, values ...string) compute {
	is := isIn(field, values...)
	return func(obj map[string]any, byDefault any) any {
		if is(obj) {
			return byDefault
		}
		return nil
	}
}

// valueWhen is a value where another field has one of the values.
func valueWhen(v any, field string, values ...string) compute {
	is := isIn(field, values...)
	return func(obj map[string]any, _ any) any {
		if is(obj) {
			return v
		}
		return nil
	}
}

// groupOfSubject is the default of the Subjects of a RoleBinding. The Subjects of a FlowSchema have a user
// or a group instead of a name, and no apiGroup.
func groupOfSubject(obj map[string]any, _ any) any {
	if obj["user"] != nil || obj["group"] != nil {
		return nil
	}
	return valueWhen("rbac.authorization.k8s.io", "kind", "User", "Group")(obj, nil)
}

// unless is the default where another field is missing, else a value.
func unless(field string, otherwise any) compute {
	return func(obj map[string]any, byDefault any) any {
		if obj[field] == nil || byDefault == nil {
			return byDefault
		}
		return otherwise
	}
}

// unlessMoreThan is the default of an object that has no other field than one.
func unlessMoreThan(field string) compute {
	return func(obj map[string]any, byDefault any) any {
		for name := range obj {
			if name != field {
				return nil
			}
		}
		return byDefault
	}
}

func copyOf(field string) compute {
	return func(obj map[string]any, _ any) any {
		if v := obj[field]; v != "" {
			return v
		}
		return nil
	}
}

func portItself(obj map[string]any, _ any) any {
	if port := obj["port"]; port != nil {
		return port
	}
	return int64(0)
}

// trafficFromOutside is set for a Service that can be reached from outside.
func trafficFromOutside(obj map[string]any, _ any) any {
	ips, _ := obj["externalIPs"].([]any)
	switch kind := text(obj["type"]); {
	case kind == "LoadBalancer", kind == "NodePort", (kind == "ClusterIP" || kind == "") && len(ips) > 0:
		return "Cluster"
	}
	return nil
}

func policyTypes(obj map[string]any, byDefault any) any {
	types, _ := byDefault.([]any)
	if egress, _ := obj["egress"].([]any); len(egress) > 0 {
		return append(slices.Clip(types), "Egress")
	}
	return types
}

// repository is the part before the tag in the name of an image.
var repository = regexp.MustCompile(`^(?:(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$`)

// pullPolicy is Always for an image without tag and digest, or with the tag latest. What is not the
// name of an image has neither.
func pullPolicy(field string) compute {
	return func(obj map[string]any, _ any) any {
		if isLatest(text(obj[field])) {
			return "Always"
		}
		return "IfNotPresent"
	}
}

func isLatest(image string) bool {
	name, _, hasDigest := strings.Cut(image, "@")
	tag := ""
	if at := strings.LastIndexByte(name, ':'); at > strings.LastIndexByte(name, '/') {
		name, tag = name[:at], name[at+1:]
	}
	return repository.MatchString(name) && (tag == "latest" || tag == "" && !hasDigest && !strings.HasSuffix(image, ":"))
}
