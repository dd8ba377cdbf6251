package validation

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	serviceName = form(validation.IsDNS1035Label)
	backend     = check(func(f fieldOf) {
		m, is := f.value.(map[string]any)
		if !is {
			return
		}
		service := nested(m, "service")
		switch {
		case service == nil && m["resource"] == nil:
			f.add(field.Invalid(f.path, "", "resource or service backend is required"))
			return
		case service == nil:
			return
		}
		path := f.path.Child("service", "name")
		required(fieldOf{f.faults, path, service["name"], service})
		label(fieldOf{f.faults, path, service["name"], service})
		p := nested(service, "port")
		if isEmpty(p["name"]) && isEmpty(p["number"]) {
			f.add(field.Required(f.path, "port name or number is required"))
			return
		}
		portName(fieldOf{f.faults, f.path.Child("service", "port", "name"), p["name"], p})
		hostPort(fieldOf{f.faults, f.path.Child("service", "port", "number"), p["number"], p})
	})
	ingress = rules{of("spec", always(rules{
		of("", ingressIsUsed),
		given("tls", each(rules{given("hosts", elements(hostName)), given("secretName", subdomain)})),
		given("rules", each(rules{given("host", subdomain), given("http", in(rules{of("paths", required, each(rules{
			of("pathType", requiredFor("pathType must be specified"), oneOf("Exact", "ImplementationSpecific", "Prefix")), of("path", pathOfType), given("backend", backend),
		}))}))})),
		given("defaultBackend", backend), given("ingressClassName", subdomain),
	}))}
	ingressClass  = rules{of("spec", always(rules{of("controller", required, domainPath), given("parameters", in(rules{of("kind", required), of("name", required)}))}))}
	peer          = rules{of("", onePeer), given("ipBlock", in(rules{of("cidr", required, network), given("except", elements(network))})), given("namespaceSelector", selector), given("podSelector", selector)}
	policyPort    = rules{of("protocol", mustBe("TCP", "UDP", "SCTP")), given("port", portIfGiven)}
	networkPolicy = rules{of("spec", always(rules{
		given("podSelector", selector),
		given("ingress", each(rules{given("ports", each(policyPort)), given("from", each(peer))})),
		given("egress", each(rules{given("ports", each(policyPort)), given("to", each(peer))})),
		given("policyTypes", elements(oneOf("Egress", "Ingress"))),
	}))}
	storageClass = rules{
		of("provisioner", required, qualifiedLower), given("reclaimPolicy", oneOf("Delete", "Retain")), given("volumeBindingMode", oneOf("Immediate", "WaitForFirstConsumer")),
		given("allowedTopologies", each(rules{given("matchLabelExpressions", each(rules{of("key", nonEmptyQualified), of("values", required, distinct)}), unique("key"))})),
	}
	csiNode    = rules{of("spec", always(rules{given("drivers", each(rules{of("name", required, subdomain), of("nodeID", required), given("allocatable", in(rules{given("count", notNegative)}))}), unique("name"))}))}
	capacities = rules{given("storageClassName", subdomain), of("", func(f fieldOf) {
		if q, ok := quantity(f.within["capacity"]); ok && q.Sign() < 0 {
			f.add(field.Invalid(field.NewPath("capacity"), q.String(), "must be greater than or equal to 0"))
		}
	})}
	attachment = rules{of("spec", always(rules{of("attacher", required, subdomain), of("source", volumeOfAttachment)}))}
	lease      = rules{given("spec", in(rules{given("leaseDurationSeconds", positive), given("leaseTransitions", notNegative)}))}
	slice      = rules{
		of("addressType", required, oneOf("FQDN", "IPv4", "IPv6")),
		given("endpoints", each(rules{of("addresses", requiredFor("must contain at least 1 address"), elements(address))})),
		given("ports", each(rules{given("protocol", oneOf("SCTP", "TCP", "UDP")), given("name", label)}), sliceNames),
	}
	policyRule = rules{
		of("verbs", requiredFor("verbs must contain at least one value")), of("", groupsAndResources),
	}
	role     = rules{given("rules", each(policyRule))}
	subjects = given("subjects", each(rules{of("name", required), of("kind", mustBe("ServiceAccount", "User", "Group")), of("", subjectName)}))
	binding  = rules{of("roleRef", always(rules{of("kind", mustBe("Role", "ClusterRole")), of("name", required)})), subjects}
	clusters = rules{of("roleRef", always(rules{of("kind", mustBe("ClusterRole")), of("name", required)})), subjects}
	runtimes = rules{of("handler", required, label), given("scheduling", in(rules{given("nodeSelector", labels), given("tolerations", each(toleration))}))}
	event    = rules{
		of("eventTime", required), of("reportingController", required, nonEmptyQualified), of("reportingInstance", required), of("action", required), of("reason", required), of("type", eventType),
	}
)

func ingressIsUsed(f fieldOf) {
	if len(list(f.within["rules"])) == 0 && f.within["defaultBackend"] == nil {
		f.add(field.Invalid(f.path, nil, "either `defaultBackend` or `rules` must be specified"))
	}
}

func pathOfType(f fieldOf) {
	if kind := text(f.within["pathType"]); kind == "ImplementationSpecific" || kind != "Prefix" && kind != "Exact" {
		return
	}
	if !strings.HasPrefix(text(f.value), "/") {
		f.add(field.Invalid(f.path, text(f.value), "must be an absolute path"))
	}
}

func domainPath(f fieldOf) {
	if s := text(f.value); s != "" && !strings.Contains(s, "/") {
		f.add(field.Invalid(f.path, s, `must be a domain-prefixed path (such as "acme.io/foo")`))
	}
}

func onePeer(f fieldOf) {
	if f.within["ipBlock"] == nil && f.within["namespaceSelector"] == nil && f.within["podSelector"] == nil {
		f.add(field.Required(f.path, "must specify a peer"))
	}
}

func portIfGiven(f fieldOf) {
	if f.value != nil {
		port(f)
	}
}

// qualifiedLower is qualified for the name in lower case, as it is compared.
func qualifiedLower(f fieldOf) {
	if s := text(f.value); s != "" {
		for _, message := range validation.IsQualifiedName(strings.ToLower(s)) {
			f.add(field.Invalid(f.path, strings.ToLower(s), message))
		}
	}
}

func volumeOfAttachment(f fieldOf) {
	m, _ := f.value.(map[string]any)
	name, said := m["persistentVolumeName"].(string)
	switch {
	case m["inlineVolumeSpec"] == nil && !said:
		f.add(field.Required(f.path, "must specify exactly one of inlineVolumeSpec and persistentVolumeName"))
	case said && name == "":
		f.add(field.Required(f.path.Child("persistentVolumeName"), "must specify non empty persistentVolumeName"))
	case said:
		subdomain(fieldOf{f.faults, f.path.Child("persistentVolumeName"), name, m})
	}
}

func sliceNames(f fieldOf) {
	seen := map[string]bool{}
	for i, v := range list(f.value) {
		m, _ := v.(map[string]any)
		name := text(m["name"])
		if seen[name] {
			f.add(field.Duplicate(f.path.Index(i).Child("name"), name))
		}
		seen[name] = true
	}
}

func groupsAndResources(f fieldOf) {
	if len(list(f.within["nonResourceURLs"])) > 0 {
		return
	}
	if len(list(f.within["apiGroups"])) == 0 {
		f.add(field.Required(f.path.Child("apiGroups"), "resource rules must supply at least one api group"))
	}
	if len(list(f.within["resources"])) == 0 {
		f.add(field.Required(f.path.Child("resources"), "resource rules must supply at least one resource"))
	}
}

func subjectName(f fieldOf) {
	if text(f.within["kind"]) != "ServiceAccount" {
		return
	}
	subdomain(fieldOf{f.faults, f.path.Child("name"), f.within["name"], f.within})
	if f.in("ClusterRoleBinding") {
		required(fieldOf{f.faults, f.path.Child("namespace"), f.within["namespace"], f.within})
	}
}

func eventType(f fieldOf) {
	if kind := text(f.value); !slices.Contains([]string{"Normal", "Warning"}, kind) {
		f.add(field.Invalid(f.path, kind, "has invalid value: "+kind))
	}
}
