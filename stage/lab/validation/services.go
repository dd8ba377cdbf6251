package validation

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The rules of Services follow validateService of core/validation.
var (
	servicePod = rules{
		of("ports", portsOf),
		of("type", mustBe("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")),
		given("ports", each(rules{given("name", label), given("port", portNumber), of("protocol", required, protocol), of("targetPort", port), given("appProtocol", nonEmptyQualified)}), unique("name"), uniquePorts, nodePortsOfType),
		given("selector", labels),
		of("sessionAffinity", required, oneOf("ClientIP", "None"), affinityConfig),
		of("clusterIPs", clusterIPs), of("", families), of("", onlyForBalancers),
		of("", externalName),
		of("externalTrafficPolicy", trafficPolicy), of("internalTrafficPolicy", internalPolicy), given("trafficDistribution", mustBe("PreferClose", "PreferSameZone", "PreferSameNode")),
		given("externalIPs", elements(address)),
		of("healthCheckNodePort", healthCheckPort),
	}
	service = rules{of("spec", always(servicePod))}
)

// portsOf requires ports, except for a Service without its own address.
func portsOf(f fieldOf) {
	kind, ip := text(f.within["type"]), text(f.within["clusterIP"])
	if len(list(f.value)) == 0 && ip != "None" && kind != "ExternalName" {
		f.add(field.Required(f.path(), ""))
	}
	if len(list(f.value)) > 1 {
		for i, v := range list(f.value) {
			if m, _ := v.(map[string]any); text(m["name"]) == "" {
				f.add(field.Required(f.path().Index(i).Child("name"), ""))
			}
		}
	}
}

func uniquePorts(f fieldOf) {
	seen, nodePorts := map[string]bool{}, map[string]bool{}
	for i, v := range list(f.value) {
		m, _ := v.(map[string]any)
		n, _ := m["nodePort"].(int64)
		key := fmt.Sprint(m["protocol"], m["nodePort"])
		if n != 0 && nodePorts[key] {
			f.add(field.Duplicate(f.path().Index(i).Child("nodePort"), n))
		}
		nodePorts[key] = true
		key = fmt.Sprint(m["protocol"], m["port"])
		if seen[key] {
			f.add(field.Duplicate(f.path().Index(i), m))
		}
		seen[key] = true
	}
}

// clusterIPs is ValidateServiceClusterIPsRelatedFields of core/validation; fields of the old type
// of the Service are removed before.
func clusterIPs(f fieldOf) {
	if f.within["type"] == "ExternalName" {
		return
	}
	first, ips := text(f.within["clusterIP"]), list(f.value)
	switch {
	case first == "" && len(ips) > 0:
		f.add(field.Invalid(f.path(), ips, "must be empty when `clusterIP` is not specified"))
	case len(ips) > 0 && ips[0] != first:
		f.add(field.Invalid(f.path(), ips, "first value must match `clusterIP`"))
	}
	v4, v6 := 0, 0
	for i, v := range ips {
		if i == 0 && v == "None" {
			if len(ips) > 1 {
				f.add(field.Invalid(f.path(), ips, "'None' must be the first and only value"))
				return
			}
			continue
		}
		address(fieldOf{f.faults, f.path().Index(i), "", v, f.within})
		switch ip, err := netip.ParseAddr(text(v)); {
		case err != nil:
		case ip.Is4():
			v4++
		default:
			v6++
		}
	}
	if len(ips) > 2 {
		f.add(field.Invalid(f.path(), ips, "may only hold up to 2 values"))
	}
	if v4 > 1 || v6 > 1 {
		f.add(field.Invalid(f.path(), ips, "may specify no more than one IP for each IP family"))
	}
}

func externalName(f fieldOf) {
	if text(f.within["type"]) != "ExternalName" {
		return
	}
	name := strings.TrimSuffix(text(f.within["externalName"]), ".")
	if name == "" {
		f.add(field.Required(f.path().Child("externalName"), ""))
		return
	}
	for _, message := range validation.IsDNS1123Subdomain(name) {
		f.add(field.Invalid(f.path().Child("externalName"), name, message))
	}
}

func trafficPolicy(f fieldOf) {
	policy, kind := text(f.value), text(f.within["type"])
	outside := kind == "LoadBalancer" || kind == "NodePort" || kind == "ClusterIP" && len(list(f.within["externalIPs"])) > 0
	switch {
	case policy != "" && !outside:
		f.add(field.Invalid(f.path(), policy, "may only be set for externally-accessible services"))
	case outside && policy == "":
		f.add(field.Required(f.path(), ""))
	case outside:
		oneOf("Cluster", "Local")(f)
	}
}

func nodePortsOfType(f fieldOf) {
	if f.within["type"] != "ClusterIP" {
		return
	}
	for i, v := range list(f.value) {
		if m, _ := v.(map[string]any); !isEmpty(m["nodePort"]) {
			f.add(field.Forbidden(f.path().Index(i).Child("nodePort"), "may not be used when `type` is 'ClusterIP'"))
		}
	}
}

// affinityConfig checks how long a client stays with a Pod.
func affinityConfig(f fieldOf) {
	const most = 86400
	config, path := nested(f.within, "sessionAffinityConfig"), parentField(f.path()).Child("sessionAffinityConfig")
	switch text(f.value) {
	case "None":
		if config != nil {
			f.add(field.Forbidden(path, "must not be set when session affinity is None"))
		}
		return
	case "ClientIP":
	default:
		return
	}
	client := nested(config, "clientIP")
	seconds, is := client["timeoutSeconds"].(int64)
	for _, missing := range []struct {
		is   bool
		path *field.Path
	}{{config == nil, path}, {client == nil, path.Child("clientIP")}, {!is, path.Child("clientIP", "timeoutSeconds")}} {
		if missing.is {
			f.add(field.Required(missing.path, "when session affinity type is ClientIP"))
			return
		}
	}
	if seconds <= 0 || seconds > most {
		f.add(field.Invalid(path.Child("clientIP", "timeoutSeconds"), seconds, fmt.Sprintf("must be greater than 0 and less than %d", most)))
	}
}

// families checks the IP families of a Service, and that its addresses are of them.
func families(f fieldOf) {
	if f.within["type"] == "ExternalName" {
		for _, name := range []string{"clusterIPs", "ipFamilies", "ipFamilyPolicy"} {
			if !isEmpty(f.within[name]) {
				f.add(field.Forbidden(f.path().Child(name), "may not be set for ExternalName services"))
			}
		}
		return
	}
	path := f.path().Child("ipFamilies")
	elements(mustBe("IPv4", "IPv6"))(fieldOf{f.faults, path, "", f.within["ipFamilies"], f.within})
	distinct(fieldOf{f.faults, path, "", f.within["ipFamilies"], f.within})
	if policy := f.within["ipFamilyPolicy"]; policy != nil {
		mustBe("PreferDualStack", "RequireDualStack", "SingleStack")(fieldOf{f.faults, f.path().Child("ipFamilyPolicy"), "", policy, f.within})
	}
	ips, all := list(f.within["clusterIPs"]), list(f.within["ipFamilies"])
	for i := range min(len(ips), len(all)) {
		ip, err := netip.ParseAddr(text(ips[i]))
		family := "IPv6"
		if ip.Is4() {
			family = "IPv4"
		}
		if err == nil && all[i] != family && slices.Contains([]string{"IPv4", "IPv6"}, text(all[i])) {
			f.add(field.Invalid(f.path().Child("clusterIPs").Index(i), ips[i], fmt.Sprintf("expected an %s value as indicated by `ipFamilies[%d]`", all[i], i)))
		}
	}
}

// onlyForBalancers refuses fields that only a Service of type LoadBalancer may have.
func onlyForBalancers(f fieldOf) {
	const message = "may only be used when `type` is 'LoadBalancer'"
	isBalancer := f.within["type"] == "LoadBalancer"
	ranges := list(f.within["loadBalancerSourceRanges"])
	path := f.path().Child("LoadBalancerSourceRanges") // as the server says it
	if len(ranges) > 0 && !isBalancer {
		f.add(field.Forbidden(path, message))
	}
	for i, v := range ranges {
		network(fieldOf{f.faults, path.Index(i), "", strings.TrimSpace(text(v)), f.within})
	}
	if f.within["allocateLoadBalancerNodePorts"] != nil && !isBalancer {
		f.add(field.Forbidden(f.path().Child("allocateLoadBalancerNodePorts"), message))
	}
	switch class := f.within["loadBalancerClass"]; {
	case class == nil:
	case isBalancer:
		nonEmptyQualified(fieldOf{f.faults, f.path().Child("loadBalancerClass"), "", class, f.within})
	default:
		f.add(field.Forbidden(f.path().Child("loadBalancerClass"), message))
	}
}

func internalPolicy(f fieldOf) {
	switch {
	case f.value != nil:
		mustBe("Cluster", "Local")(f)
	case slices.Contains([]string{"ClusterIP", "NodePort", "LoadBalancer"}, text(f.within["type"])):
		f.add(field.Required(f.path(), ""))
	}
}

// healthCheckPort checks the port that balancers ask, which the cluster gives.
func healthCheckPort(f fieldOf) {
	needed := f.within["type"] == "LoadBalancer" && f.within["externalTrafficPolicy"] == "Local"
	switch {
	case isEmpty(f.value):
	case needed:
		portNumber(f)
	default:
		f.add(field.Invalid(f.path(), f.value, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"))
	}
}
