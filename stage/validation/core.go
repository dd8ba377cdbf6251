package validation

import (
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	pod        = rules{of("spec", always(podSpec))}
	podTmpl    = rules{of("template", always1)}
	claim      = rules{of("spec", always(claimSpec))}
	volumeRule = rules{of("spec", always(persistentVolume))}
	servicePod = rules{
		of("ports", portsOf),
		of("type", mustBe("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")),
		given("ports", each(rules{given("name", label), given("port", portNumber), given("protocol", protocol), of("targetPort", port)}), unique("name"), uniquePorts),
		given("selector", labels),
		given("sessionAffinity", oneOf("ClientIP", "None")),
		given("clusterIPs", clusterIPs),
		of("", externalName),
		of("externalTrafficPolicy", trafficPolicy), given("internalTrafficPolicy", oneOf("Cluster", "Local")),
		given("externalIPs", elements(address)), given("loadBalancerSourceRanges", elements(network)),
		given("healthCheckNodePort", hostPort),
	}
	service = rules{of("spec", always(servicePod))}
	limits  = rules{of("spec", always(rules{of("limits", each(rules{of("type", limitType)}), limitTypes)}))}
	quota   = rules{of("spec", always(rules{given("hard", quantities(atLeastZero))}))}
	points  = rules{given("subsets", elements(subset), each(rules{
		given("addresses", each(rules{of("ip", requiredAddress)})), given("notReadyAddresses", each(rules{of("ip", requiredAddress)})),
		given("ports", each(rules{given("port", portNumber), of("protocol", mustBe("SCTP", "TCP", "UDP")), given("name", label)}), namesOfPorts),
	}))}
	node = rules{of("", taints), of("spec", always(rules{given("podCIDRs", elements(network))}))}
)

// portsOf requires ports, but for a Service without an address of its own.
func portsOf(f fieldOf) {
	kind, ip := text(f.within["type"]), text(f.within["clusterIP"])
	if len(list(f.value)) == 0 && ip != "None" && kind != "ExternalName" {
		f.add(field.Required(f.path, ""))
	}
	if len(list(f.value)) > 1 {
		for i, v := range list(f.value) {
			if m, _ := v.(map[string]any); text(m["name"]) == "" {
				f.add(field.Required(f.path.Index(i).Child("name"), ""))
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
			f.add(field.Duplicate(f.path.Index(i).Child("nodePort"), n))
		}
		nodePorts[key] = true
		key = fmt.Sprint(m["protocol"], m["port"])
		if seen[key] {
			f.add(field.Duplicate(f.path.Index(i), m))
		}
		seen[key] = true
	}
}

func clusterIPs(f fieldOf) {
	if text(f.within["type"]) == "ExternalName" {
		return
	}
	for i, v := range list(f.value) {
		if s := text(v); s != "None" && s != "" {
			address(fieldOf{f.faults, f.path.Index(i), v, f.within})
		}
	}
}

func externalName(f fieldOf) {
	if text(f.within["type"]) != "ExternalName" {
		return
	}
	name := strings.TrimSuffix(text(f.within["externalName"]), ".")
	if name == "" {
		f.add(field.Required(f.path.Child("externalName"), ""))
		return
	}
	for _, message := range validation.IsDNS1123Subdomain(name) {
		f.add(field.Invalid(f.path.Child("externalName"), name, message))
	}
}

func trafficPolicy(f fieldOf) {
	policy, kind := text(f.value), text(f.within["type"])
	outside := kind == "LoadBalancer" || kind == "NodePort" || kind == "ClusterIP" && len(list(f.within["externalIPs"])) > 0
	switch {
	case policy != "" && !outside:
		f.add(field.Invalid(f.path, policy, "may only be set for externally-accessible services"))
	case outside && policy == "":
		f.add(field.Required(f.path, "externalTrafficPolicy must be set for externally-accessible services"))
	case outside:
		oneOf("Cluster", "Local")(f)
	}
}

func limitType(f fieldOf) {
	kind := text(f.value)
	nonEmptyQualified(f)
	if kind != "Pod" && kind != "Container" && kind != "PersistentVolumeClaim" && !strings.Contains(kind, "/") {
		f.add(field.Invalid(f.path, kind, "must be a standard limit type or fully qualified"))
	}
}

func limitTypes(f fieldOf) { unique("type")(f) }

func subset(f fieldOf) {
	m, _ := f.value.(map[string]any)
	if len(list(m["addresses"]))+len(list(m["notReadyAddresses"])) == 0 {
		f.add(field.Required(f.path, "must specify `addresses` or `notReadyAddresses`"))
	}
}

func requiredAddress(f fieldOf) {
	if _, err := netip.ParseAddr(text(f.value)); err != nil {
		f.add(field.Invalid(f.path, text(f.value), "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"))
	}
}

func namesOfPorts(f fieldOf) {
	for i, v := range list(f.value) {
		if m, _ := v.(map[string]any); len(list(f.value)) > 1 && text(m["name"]) == "" {
			f.add(field.Required(f.path.Index(i).Child("name"), ""))
		}
	}
}

// taints checks those of a Node; the server says metadata where spec is meant.
func taints(f fieldOf) {
	path := field.NewPath("metadata", "taints")
	seen := map[string]bool{}
	for i, v := range list(nested(f.within, "spec")["taints"]) {
		m, _ := v.(map[string]any)
		at := path.Index(i)
		nonEmptyQualified(fieldOf{f.faults, at.Child("key"), m["key"], m})
		labelText(fieldOf{f.faults, at.Child("value"), m["value"], m})
		required(fieldOf{f.faults, at.Child("effect"), m["effect"], m})
		oneOf("NoExecute", "NoSchedule", "PreferNoSchedule")(fieldOf{f.faults, at.Child("effect"), m["effect"], m})
		key := text(m["key"]) + text(m["effect"])
		if seen[key] {
			f.add(field.Duplicate(at, m))
		}
		seen[key] = true
	}
}

// eventNamespace refuses an Event about an object of another namespace. Those with an eventTime are
// Events of events.k8s.io, for which kube-apiserver does not ask for it.
func eventNamespace(f fieldOf) {
	about, own := text(nested(f.within, "involvedObject")["namespace"]), text(nested(f.within, "metadata")["namespace"])
	switch {
	case about == own, !isEmpty(f.within["eventTime"]):
	case about == "" && own == "default":
	default:
		f.add(field.Invalid(field.NewPath("involvedObject", "namespace"), about, "does not match event.namespace"))
	}
}
