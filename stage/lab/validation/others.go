package validation

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	pathfield "k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
			f.add(field.Invalid(f.path(), "", "resource or service backend is required"))
			return
		case service == nil:
			return
		}
		path := f.path().Child("service", "name")
		required(fieldOf{f.faults, path, "", service["name"], service})
		label(fieldOf{f.faults, path, "", service["name"], service})
		p := nested(service, "port")
		if isEmpty(p["name"]) && isEmpty(p["number"]) {
			f.add(field.Required(f.path(), "port name or number is required"))
			return
		}
		portName(fieldOf{f.faults, f.path().Child("service", "port", "name"), "", p["name"], p})
		hostPort(fieldOf{f.faults, f.path().Child("service", "port", "number"), "", p["number"], p})
	})
	ingress = rules{of("spec", always(rules{
		of("", ingressIsUsed),
		given("tls", each(rules{given("hosts", elements(ingressHost)), given("secretName", subdomain)})),
		given("rules", each(rules{given("host", ruleHost), given("http", in(rules{of("paths", required, each(rules{
			of("pathType", pathTypeGiven), of("path", pathOfType), given("backend", backend),
		}))}))})),
		given("defaultBackend", backend), given("ingressClassName", hostName),
	}))}
	ingressClass  = rules{of("spec", always(rules{of("controller", required, domainPath), given("parameters", in(rules{given("apiGroup", hostName), of("kind", required, roleName), of("name", required, roleName), of("", parameterScope)}))}))}
	peer          = rules{of("", onePeer), given("ipBlock", in(rules{of("cidr", required, form(isNetwork)), given("except", elements(network))})), given("namespaceSelector", selector), given("podSelector", selector)}
	policyPort    = rules{of("protocol", mustBe("TCP", "UDP", "SCTP")), given("port", port), given("endPort", endOfPorts)}
	networkPolicy = rules{of("spec", always(rules{
		given("podSelector", selector),
		given("ingress", each(rules{given("ports", each(policyPort)), given("from", each(peer))})),
		given("egress", each(rules{given("ports", each(policyPort)), given("to", each(peer))})),
		given("policyTypes", elements(mustBe("Ingress", "Egress"))),
	}))}
	storageClass = rules{
		of("provisioner", required, qualifiedLower), given("reclaimPolicy", oneOf("Delete", "Retain")), given("volumeBindingMode", mustBe("Immediate", "WaitForFirstConsumer")),
		given("allowedTopologies", each(rules{given("matchLabelExpressions", each(rules{of("key", nonEmptyQualified), of("values", required, distinct)}), unique("key"))}), uniqueTopologies),
	}
	csiNode    = rules{of("spec", always(rules{given("drivers", each(rules{of("name", driverName), of("nodeID", required, nodeID), given("allocatable", in(rules{given("count", notNegative)})), given("topologyKeys", topologyKeys)}), unique("name"))}))}
	capacities = rules{given("nodeTopology", selector), of("storageClassName", hostName), of("", func(f fieldOf) {
		if q, ok := quantity(f.within["capacity"]); ok && q.Sign() < 0 {
			f.add(field.Invalid(field.NewPath("capacity"), q.String(), "must be greater than or equal to 0"))
		}
	})}
	attachment = rules{of("spec", always(rules{of("attacher", driverName), of("source", volumeOfAttachment), of("nodeName", hostName)}))}
	lease      = rules{given("spec", in(rules{given("leaseDurationSeconds", positive), given("leaseTransitions", notNegative)}))}
	slice      = rules{
		of("addressType", required, oneOf("FQDN", "IPv4", "IPv6")),
		given("endpoints", each(rules{
			of("addresses", requiredFor("must contain at least 1 address"), elements(address)), given("nodeName", hostName), given("hostname", strictly(validation.IsDNS1123Label)),
			given("hints", in(rules{given("forZones", each(rules{of("name", labelText)}), unique("name")), given("forNodes", each(rules{of("name", hostName)}), unique("name"))})),
		})),
		given("ports", each(rules{of("protocol", mustBe("SCTP", "TCP", "UDP")), given("name", label), given("appProtocol", nonEmptyQualified)}), sliceNames),
	}
	policyRule = rules{
		of("verbs", requiredFor("verbs must contain at least one value")), of("", groupsAndResources),
	}
	role        = rules{given("rules", each(policyRule))}
	clusterRole = slices.Concat(role, rules{given("aggregationRule", in(rules{of("clusterRoleSelectors", requiredFor("at least one clusterRoleSelector required if aggregationRule is non-nil"), elements(selector, readable))}))})
	subjects    = given("subjects", each(rules{of("name", required), of("kind", mustBe("ServiceAccount", "User", "Group")), of("", subjectName)}))
	binding     = rules{of("roleRef", always(rules{of("apiGroup", mustBe("rbac.authorization.k8s.io")), of("kind", mustBe("Role", "ClusterRole")), of("name", required, roleName)})), subjects}
	clusters    = rules{of("roleRef", always(rules{of("apiGroup", mustBe("rbac.authorization.k8s.io")), of("kind", mustBe("ClusterRole")), of("name", required, roleName)})), subjects}
	runtimes    = rules{of("handler", required, label), given("overhead", in(rules{of("podFixed", overheadLimits)})), given("scheduling", in(rules{given("nodeSelector", labels), given("tolerations", each(toleration))}))}
)

func ingressIsUsed(f fieldOf) {
	if len(list(f.within["rules"])) == 0 && f.within["defaultBackend"] == nil {
		f.add(field.Invalid(f.path(), nil, "either `defaultBackend` or `rules` must be specified"))
	}
}

func pathOfType(f fieldOf) {
	if kind := text(f.within["pathType"]); kind == "ImplementationSpecific" || kind != "Prefix" && kind != "Exact" {
		return
	}
	if !strings.HasPrefix(text(f.value), "/") {
		f.add(field.Invalid(f.path(), text(f.value), "must be an absolute path"))
	}
}

func domainPath(f fieldOf) {
	const most = 250
	s := text(f.value)
	if len(s) > most {
		f.add(field.TooLong(f.path(), "", most))
	}
	if s != "" && !strings.Contains(s, "/") {
		f.add(field.Invalid(f.path(), s, `must be a domain-prefixed path (such as "acme.io/foo")`))
	}
}

func onePeer(f fieldOf) {
	if f.within["ipBlock"] == nil && f.within["namespaceSelector"] == nil && f.within["podSelector"] == nil {
		f.add(field.Required(f.path(), "must specify a peer"))
	}
}

// endOfPorts checks the end of a range of ports.
func endOfPorts(f fieldOf) {
	first, isNumber := f.within["port"].(int64)
	last, _ := f.value.(int64)
	switch {
	case f.within["port"] == nil:
		f.add(field.Invalid(f.path(), last, "may not be specified when `port` is not specified"))
		return
	case !isNumber:
		f.add(field.Invalid(f.path(), last, "may not be specified when `port` is non-numeric"))
		return
	case last < first:
		f.add(field.Invalid(f.path(), first, "must be greater than or equal to `port`"))
	}
	portNumber(f)
}

// ingressHost checks a name. Its first part may be *.
func ingressHost(f fieldOf) {
	if strings.Contains(text(f.value), "*") {
		strictly(validation.IsWildcardDNS1123Subdomain)(f)
		return
	}
	hostName(f)
}

func ruleHost(f fieldOf) {
	if text(f.value) == "" {
		return
	}
	if _, err := netip.ParseAddr(text(f.value)); err == nil {
		f.add(field.Invalid(f.path(), text(f.value), "must be a DNS name, not an IP address"))
	}
	ingressHost(f)
}

func pathTypeGiven(f fieldOf) {
	if f.value == nil {
		f.add(field.Required(f.path(), "pathType must be specified"))
		return
	}
	mustBe("Exact", "ImplementationSpecific", "Prefix")(f)
}

// uniqueTopologies refuses the second of two equal terms of a StorageClass. An empty term is equal
// to terms that the server has not read yet.
func uniqueTopologies(f fieldOf) {
	seen := map[string]bool{"map[]": true}
	for i, v := range list(f.value) {
		m, _ := v.(map[string]any)
		term := map[string][]string{}
		for _, v := range list(m["matchLabelExpressions"]) {
			e, _ := v.(map[string]any)
			term[text(e["key"])] = append(term[text(e["key"])], "")
			for _, value := range list(e["values"]) {
				term[text(e["key"])] = append(term[text(e["key"])], text(value))
			}
			slices.Sort(term[text(e["key"])])
		}
		key := fmt.Sprint(term)
		if seen[key] {
			f.add(field.Duplicate(f.path().Index(i).Child("matchLabelExpressions"), ""))
		}
		seen[key] = true
	}
}

// overheadLimits checks what the Pods of a class take in addition to their containers; the server
// calls it limits.
func overheadLimits(f fieldOf) {
	quantities(atLeastZero)(fieldOf{f.faults, parentField(f.path()).Child("limits"), "", f.value, f.within})
}

// roleName is the name of a Role or ClusterRole.
func roleName(f fieldOf) {
	for _, message := range pathfield.IsValidPathSegmentName(text(f.value)) {
		f.add(field.Invalid(f.path(), text(f.value), message))
	}
}

// qualifiedLower is like qualified, for the name in lower case, which the server compares.
func qualifiedLower(f fieldOf) {
	if s := text(f.value); s != "" {
		for _, message := range validation.IsQualifiedName(strings.ToLower(s)) {
			f.add(field.Invalid(f.path(), strings.ToLower(s), message))
		}
	}
}

func volumeOfAttachment(f fieldOf) {
	m, _ := f.value.(map[string]any)
	name, said := m["persistentVolumeName"].(string)
	switch {
	case m["inlineVolumeSpec"] != nil && !said:
		in(inlineVolume)(fieldOf{f.faults, f.path(), "inlineVolumeSpec", m["inlineVolumeSpec"], m})
	case m["inlineVolumeSpec"] == nil && !said:
		f.add(field.Required(f.path(), "must specify exactly one of inlineVolumeSpec and persistentVolumeName"))
	case said && name == "":
		f.add(field.Required(f.path().Child("persistentVolumeName"), "must specify non empty persistentVolumeName"))
		fallthrough
	case said:
		hostName(fieldOf{f.faults, f.path().Child("persistentVolumeName"), "", name, m})
	}
}

func sliceNames(f fieldOf) {
	seen := map[string]bool{}
	for i, v := range list(f.value) {
		m, _ := v.(map[string]any)
		name := text(m["name"])
		if seen[name] {
			f.add(field.Duplicate(f.path().Index(i).Child("name"), name))
		}
		seen[name] = true
	}
}

func groupsAndResources(f fieldOf) {
	if len(list(f.within["nonResourceURLs"])) > 0 {
		return
	}
	if len(list(f.within["apiGroups"])) == 0 {
		f.add(field.Required(f.path().Child("apiGroups"), "resource rules must supply at least one api group"))
	}
	if len(list(f.within["resources"])) == 0 {
		f.add(field.Required(f.path().Child("resources"), "resource rules must supply at least one resource"))
	}
}

// subjectName is ValidateRoleBindingSubject of rbac/validation.
func subjectName(f fieldOf) {
	group := text(f.within["apiGroup"])
	switch text(f.within["kind"]) {
	case "ServiceAccount":
		subdomain(fieldOf{f.faults, f.path().Child("name"), "", f.within["name"], f.within})
		if group != "" {
			f.add(field.NotSupported(f.path().Child("apiGroup"), group, []string{""}))
		}
		if f.in("ClusterRoleBinding") {
			required(fieldOf{f.faults, f.path().Child("namespace"), "", f.within["namespace"], f.within})
		}
	case "User", "Group":
		mustBe("rbac.authorization.k8s.io")(fieldOf{f.faults, f.path().Child("apiGroup"), "", f.within["apiGroup"], f.within})
	}
}

func nodeID(f fieldOf) {
	const most = 256
	if s := text(f.value); len(s) > most {
		f.add(field.Invalid(f.path(), s, fmt.Sprintf("must be %d characters or less", most)))
	}
}

// parameterScope is the end of validateIngressClassParametersReference of networking/validation.
func parameterScope(f fieldOf) {
	scope, space := f.within["scope"], f.within["namespace"]
	path, at := f.path().Child("scope"), f.path().Child("namespace")
	switch {
	case scope == nil:
		f.add(field.Required(path, ""))
	case scope == "Namespace" && space == nil:
		f.add(field.Required(at, "`parameters.scope` is set to 'Namespace'"))
	case scope == "Namespace":
		strictly(validation.IsDNS1123Label)(fieldOf{f.faults, at, "", space, f.within})
	case scope == "Cluster" && space != nil:
		f.add(field.Forbidden(at, "`parameters.scope` is set to 'Cluster'"))
	default:
		mustBe("Cluster", "Namespace")(fieldOf{f.faults, path, "", scope, f.within})
	}
}

// readable refuses a selector that the server cannot read, in addition to the faults of its parts.
func readable(f fieldOf) {
	if s := selectorOf(f.value); s != nil {
		if read, err := metav1.LabelSelectorAsSelector(s); err != nil {
			f.add(field.Invalid(f.path(), read, "invalid label selector."))
		}
	}
}
