package defaults

import (
	"reflect"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// specIsShared reports whether the spec of an object is the spec of the stored object.
func specIsShared(v *memory.Review) bool {
	before, _ := object.Map(v.Old.Object, "spec")
	return reflect.ValueOf(before).UnsafePointer() == reflect.ValueOf(spec(v)).UnsafePointer()
}

// podUpdate does for updates what the admission plugins Priority and DefaultTolerationSeconds do.
func podUpdate(v *memory.Review) error {
	if specIsShared(v) {
		return nil
	}
	before, _ := object.Map(v.Old.Object, "spec")
	for _, name := range []string{"priority", "preemptionPolicy"} {
		if before[name] != nil {
			setMissing(v, "spec", name, before[name])
		}
	}
	return tolerations(v)
}

// typeFields are the fields of a Service that only some Services have, and which (dropTypeDependentFields
// of registry/core/service).
var typeFields = map[string]func(spec map[string]any) bool{
	"clusterIP":                     hasAddress,
	"clusterIPs":                    hasAddress,
	"ipFamilies":                    hasAddress,
	"ipFamilyPolicy":                hasAddress,
	"healthCheckNodePort":           func(s map[string]any) bool { return isBalancer(s) && s["externalTrafficPolicy"] == "Local" },
	"allocateLoadBalancerNodePorts": isBalancer,
	"loadBalancerClass":             isBalancer,
	"externalTrafficPolicy":         isReachable,
}

func hasAddress(s map[string]any) bool { return s["type"] != "ExternalName" }
func isBalancer(s map[string]any) bool { return s["type"] == "LoadBalancer" }

func isReachable(s map[string]any) bool {
	ips, _ := s["externalIPs"].([]any)
	return isBalancer(s) || s["type"] == "NodePort" || s["type"] == "ClusterIP" && len(ips) > 0
}

// serviceOfType removes the fields that a Service had when it was of another type, unless the
// update changes them. It makes clusterIPs follow clusterIP.
func serviceOfType(v *memory.Review) error {
	if specIsShared(v) {
		return nil
	}
	before, _ := object.Map(v.Old.Object, "spec")
	if now := spec(v); now["clusterIP"] != before["clusterIP"] && !empty(now["clusterIP"]) && object.DeepEqual(now["clusterIPs"], before["clusterIPs"]) {
		set(v, "spec", "clusterIPs", []any{now["clusterIP"]})
	}
	now := spec(v)
	for name, has := range typeFields {
		if now[name] != nil && has(before) && !has(now) && object.DeepEqual(before[name], now[name]) {
			set(v, "spec", name, nil)
			delete(spec(v), name) // set has copied the spec
		}
	}
	return nil
}
