package validation

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The rules of flowcontrol.apiserver.k8s.io are those of flowcontrol/validation. That the objects
// which a kube-apiserver makes itself have fixed contents is not checked.
var (
	flowVerbs  = []string{"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"}
	flowSchema = rules{of("spec", always(rules{
		given("matchingPrecedence", positivePrecedence),
		given("distinguisherMethod", distinguishes),
		of("priorityLevelConfiguration", always(rules{of("name", requiredFor("must reference a priority level"), subdomain)})),
		given("rules", each(flowRule)),
	}))}
	flowRule = rules{
		of("subjects", requiredFor("subjects must contain at least one value"), each(flowSubject)), of("", someRules),
		given("resourceRules", each(rules{
			of("verbs", flowList("verbs must contain at least one value", "verbs"), knownVerbs),
			of("apiGroups", flowList("resource rules must supply at least one api group", "api groups")),
			of("resources", flowList("resource rules must supply at least one resource", "resources")),
			of("namespaces", flowNamespaces),
		})),
		given("nonResourceRules", each(rules{
			of("verbs", flowList("verbs must contain at least one value", "verbs"), knownVerbs),
			of("nonResourceURLs", flowList("nonResourceURLs must contain at least one value", "non-resource URLs"), urlPaths),
		})),
	}
	flowSubject = rules{of("kind", mustBe("Group", "ServiceAccount", "User")), of("", subjectOfKind)}
	flowNames   = map[string]rules{
		"serviceAccount": {of("name", required, accountName), of("namespace", requiredFor("must specify namespace for service account"), label)},
		"user":           {of("name", required)},
		"group":          {of("name", required)},
	}
	priorityLevel = rules{of("spec", always(rules{of("", exemptByName), of("type", required, oneOf("Exempt", "Limited")), of("", limitedOrExempt)}))}
	percent       = between(0, 100, "must be between 0 and 100, inclusive")
	shares        = between(0, 1<<62, "must be a non-negative integer")
	exempt        = rules{given("nominalConcurrencyShares", shares), given("lendablePercent", percent)}
	limited       = rules{
		given("nominalConcurrencyShares", shares),
		of("limitResponse", always(rules{of("type", required, oneOf("Queue", "Reject")), of("", queuingOfType)})),
		given("lendablePercent", percent), given("borrowingLimitPercent", between(0, 1<<62, "if specified, must be a non-negative integer")),
	}
)

const mostPrecedence, mostQueues = 10000, 10000000

func positivePrecedence(f fieldOf) {
	n, _ := f.value.(int64)
	between(1, 1<<62, "must be a positive value")(f)
	between(-1<<62, mostPrecedence, "must not be greater than 10000")(f)
	if n == 1 && f.object != "exempt" {
		f.add(field.Invalid(f.path(), n, "only the schema named 'exempt' may have matchingPrecedence 1"))
	}
}

// subjectOfKind requires the field that the kind of a subject needs, and no other field.
func subjectOfKind(f fieldOf) {
	kind := text(f.within["kind"])
	fields := []string{"serviceAccount", "user", "group"}
	kinds := []string{"ServiceAccount", "User", "Group"}
	if !slices.Contains(kinds, kind) {
		return
	}
	for i, name := range fields {
		m, is := f.within[name].(map[string]any)
		path := f.path().Child(name)
		switch {
		case kinds[i] == kind && !is:
			f.add(field.Required(path, name+" is required when subject kind is '"+kind+"'"))
		case kinds[i] == kind:
			flowNames[name].check(f.faults, path, m)
		case is:
			f.add(field.Forbidden(path, name+" is forbidden when subject kind is not '"+kinds[i]+"'"))
		}
	}
}

func accountName(f fieldOf) {
	if f.value != "*" {
		subdomain(f)
	}
}

func someRules(f fieldOf) {
	if len(list(f.within["resourceRules"]))+len(list(f.within["nonResourceRules"])) == 0 {
		f.add(field.Required(f.path(), "at least one of resourceRules and nonResourceRules has to be non-empty"))
	}
}

// flowList requires values. The value * must be the only one.
func flowList(empty, what string) check {
	return func(f fieldOf) {
		switch values := list(f.value); {
		case len(values) == 0:
			f.add(field.Required(f.path(), empty))
		case len(values) > 1 && slices.Contains(values, any("*")):
			f.add(field.Invalid(f.path(), values, "if '*' is present, must not specify other "+what))
		}
	}
}

func knownVerbs(f fieldOf) {
	values := list(f.value)
	isUnknown := func(v any) bool { return !slices.Contains(flowVerbs, text(v)) }
	if !slices.Contains(values, any("*")) && slices.ContainsFunc(values, isUnknown) {
		f.add(field.NotSupported(f.path(), values, flowVerbs))
	}
}

func flowNamespaces(f fieldOf) {
	values := list(f.value)
	if len(values) == 0 && f.within["clusterScope"] != true {
		f.add(field.Required(f.path(), "resource rules that are not cluster scoped must supply at least one namespace"))
	}
	if slices.Contains(values, any("*")) {
		if len(values) > 1 {
			f.add(field.Invalid(f.path(), values, "if '*' is present, must not specify other namespaces"))
		}
		return
	}
	for i, v := range values {
		for _, message := range validation.IsDNS1123Label(text(v)) {
			f.add(field.Invalid(f.path().Index(i), text(v), "each member of this list must be '*' or a DNS-1123 label; "+message))
		}
	}
}

func urlPaths(f fieldOf) {
	values := list(f.value)
	if slices.Contains(values, any("*")) {
		return
	}
	for i, v := range values {
		if message := faultOfPath(text(v)); message != "" {
			f.add(field.Invalid(f.path().Index(i), text(v), message))
		}
	}
}

// faultOfPath is ValidateNonResourceURLPath.
func faultOfPath(path string) string {
	switch stars := strings.Count(path, "*"); {
	case path == "":
		return "must not be empty"
	case path == "/":
		return ""
	case !strings.HasPrefix(path, "/"):
		return "must start with slash"
	case strings.Contains(path, " "):
		return "must not contain white-space"
	case strings.Contains(path, "//"):
		return "must not contain double slash"
	case stars > 1 || stars == 1 && !strings.HasSuffix(path, "/*"):
		return "wildcard can only do suffix matching"
	}
	return ""
}

func exemptByName(f fieldOf) {
	if kind := text(f.within["type"]); (f.object == "exempt") != (kind == "Exempt") {
		f.add(field.Invalid(f.path().Child("type"), kind, "must be 'Exempt' if and only if `name` is 'exempt'"))
	}
}

func limitedOrExempt(f fieldOf) {
	isLimited := f.within["limited"] != nil
	switch f.within["type"] {
	case "Exempt":
		if isLimited {
			f.add(field.Forbidden(f.path().Child("limited"), "must be nil if the type is not Limited"))
		}
		exempt.check(f.faults, f.path().Child("exempt"), nested(f.within, "exempt"))
	case "Limited":
		if f.within["exempt"] != nil {
			f.add(field.Forbidden(f.path().Child("exempt"), "must be nil if the type is Limited"))
		}
		if !isLimited {
			f.add(field.Required(f.path().Child("limited"), "must not be empty when type is Limited"))
			return
		}
		limited.check(f.faults, f.path().Child("limited"), nested(f.within, "limited"))
	}
}

func queuingOfType(f fieldOf) {
	path, is := f.path().Child("queuing"), f.within["queuing"] != nil
	switch kind := f.within["type"]; {
	case kind == "Reject" && is:
		f.add(field.Forbidden(path, "must be nil if limited.limitResponse.type is not Limited"))
	case kind == "Queue" && !is:
		f.add(field.Required(path, "must not be empty if limited.limitResponse.type is Limited"))
	case kind == "Queue":
		queues(fieldOf{f.faults, path, "", nil, nested(f.within, "queuing")})
	}
}

func queues(f fieldOf) {
	number := func(name string) int64 { n, _ := f.within[name].(int64); return n }
	limit, n, hand := number("queueLengthLimit"), number("queues"), number("handSize")
	if limit <= 0 {
		f.add(field.Invalid(f.path().Child("queueLengthLimit"), limit, "must be positive"))
	}
	switch {
	case n <= 0:
		f.add(field.Invalid(f.path().Child("queues"), n, "must be positive"))
	case n > mostQueues:
		f.add(field.Invalid(f.path().Child("queues"), n, "must not be greater than 10000000"))
	}
	handOf(f, n, hand)
}

// handOf checks how many queues a request is dealt (RequiredEntropyBits of
// k8s.io/apiserver/pkg/util/shufflesharding).
func handOf(f fieldOf, queues, hand int64) {
	const most = 60
	path := f.path().Child("handSize")
	switch bits := entropyBits(queues, hand); {
	case hand <= 0:
		f.add(field.Invalid(path, hand, "must be positive"))
	case hand > queues:
		f.add(field.Invalid(path, hand, fmt.Sprintf("should not be greater than queues (%d)", queues)))
	case bits > most:
		f.add(field.Invalid(path, hand, fmt.Sprintf("required entropy bits of deckSize %d and handSize %d should not be greater than %d", queues, hand, most)))
	}
}

func entropyBits(deck, hand int64) int {
	return int(math.Ceil(math.Log2(float64(deck)) * float64(hand)))
}

// distinguishes checks how requests of a FlowSchema are told apart. The server prints the object in place of
// the type.
func distinguishes(f fieldOf) {
	m, _ := f.value.(map[string]any)
	known := []string{"ByNamespace", "ByUser"}
	if method := text(m["type"]); !slices.Contains(known, method) {
		f.add(field.NotSupported(f.path().Child("type"), map[string]any{"Type": method}, known))
	}
}
