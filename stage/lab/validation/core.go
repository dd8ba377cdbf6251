package validation

import (
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	pod          = rules{of("spec", always(podSpec))}
	podTmpl      = rules{of("template", byAll)}
	claim        = rules{of("spec", always(claimSpec))}
	volumeRule   = rules{of("spec", always(persistentVolume))}
	limits       = rules{of("spec", always(rules{of("limits", each(rules{of("type", limitType), of("", limitAmounts)}), limitTypes)}))}
	quota        = rules{of("spec", always(rules{given("hard", quantities(atLeastZero)), of("", quotaSelector, quotaScopes)}))}
	pointAddress = rules{of("ip", requiredAddress), given("hostname", label), given("nodeName", hostName)}
	points       = rules{given("subsets", elements(subset), each(rules{
		given("addresses", each(pointAddress)), given("notReadyAddresses", each(pointAddress)),
		given("ports", each(rules{given("port", portNumber), of("protocol", mustBe("SCTP", "TCP", "UDP")), given("name", label), given("appProtocol", nonEmptyQualified)}), namesOfPorts),
	}))}
	node = rules{of("", taints), given("status", nodeAmounts), of("spec", always(rules{given("podCIDRs", elements(network))}))}
)

func limitType(f fieldOf) {
	kind := text(f.value)
	nonEmptyQualified(f)
	if len(validation.IsQualifiedName(kind)) > 0 {
		return
	}
	if kind != "Pod" && kind != "Container" && kind != "PersistentVolumeClaim" && !strings.Contains(kind, "/") {
		f.add(field.Invalid(f.path(), kind, "must be a standard limit type or fully qualified"))
	}
}

func limitTypes(f fieldOf) { unique("type")(f) }

func subset(f fieldOf) {
	m, _ := f.value.(map[string]any)
	if len(list(m["addresses"]))+len(list(m["notReadyAddresses"])) == 0 {
		f.add(field.Required(f.path(), "must specify `addresses` or `notReadyAddresses`"))
	}
}

func requiredAddress(f fieldOf) {
	address(f)
	endpointIP(f)
}

// endpointIP is ValidateEndpointIP of core/validation.
func endpointIP(f fieldOf) {
	s := text(f.value)
	ip, err := netip.ParseAddr(s)
	for _, c := range []struct {
		isWrong bool
		message string
	}{
		{err != nil, "must be a valid IP address"},
		{ip.IsUnspecified(), "may not be unspecified (" + s + ")"},
		{ip.IsLoopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)"},
		{ip.IsLinkLocalUnicast(), "may not be in the link-local range (169.254.0.0/16, fe80::/10)"},
		{ip.IsLinkLocalMulticast(), "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"},
	} {
		if c.isWrong {
			f.add(field.Invalid(f.path(), s, c.message))
		}
	}
}

func namesOfPorts(f fieldOf) {
	for i, v := range list(f.value) {
		if m, _ := v.(map[string]any); len(list(f.value)) > 1 && text(m["name"]) == "" {
			f.add(field.Required(f.path().Index(i).Child("name"), ""))
		}
	}
}

// taints checks the taints of a Node; the server's message names metadata instead of spec.
func taints(f fieldOf) {
	path := field.NewPath("metadata", "taints")
	seen := map[string]bool{}
	for i, v := range list(nested(f.within, "spec")["taints"]) {
		m, _ := v.(map[string]any)
		at := path.Index(i)
		nonEmptyQualified(fieldOf{f.faults, at.Child("key"), "", m["key"], m})
		labelText(fieldOf{f.faults, at.Child("value"), "", m["value"], m})
		required(fieldOf{f.faults, at.Child("effect"), "", m["effect"], m})
		taintEffect(fieldOf{f.faults, at.Child("effect"), "", m["effect"], m})
		key := text(m["key"]) + text(m["effect"])
		if seen[key] {
			fault := field.Duplicate(at, m)
			fault.Detail = "taints must be unique by key and effect pair"
			f.add(fault)
		}
		seen[key] = true
	}
}

// nodeAmounts is ValidateNodeResources of core/validation.
func nodeAmounts(f fieldOf) {
	m, _ := f.value.(map[string]any)
	for _, kind := range []string{"capacity", "allocatable"} {
		amounts := nested(m, kind)
		for _, name := range sortedKeys(amounts) {
			if q, ok := quantity(amounts[name]); ok && q.Sign() < 0 {
				f.add(field.Invalid(f.path().Child(kind, name), q.String(), "must be greater than or equal to 0"))
			}
		}
	}
}

// namespaceFinalizers is validateFinalizerName of core/validation, which names the list.
func namespaceFinalizers(f fieldOf) {
	for _, v := range list(f.value) {
		name := text(v)
		for _, message := range validation.IsQualifiedName(name) {
			f.add(field.Invalid(f.path(), name, message))
		}
		if !strings.Contains(name, "/") && !standardFinalizers[name] {
			f.add(field.Invalid(f.path(), name, "name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
}

var standardFinalizers = map[string]bool{"kubernetes": true, "orphan": true, "foregroundDeletion": true}
