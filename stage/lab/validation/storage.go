package validation

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// rules of cluster-scoped kinds
var (
	priorityClass   = rules{of("value", userPriority), given("preemptionPolicy", atCreation(required, oneOf("PreemptLowerPriority", "Never")))}
	cidrs           = rules{of("spec", always(rules{of("cidrs", networks)}))}
	attributesClass = rules{of("driverName", required, qualifiedLower)}
	ipAddress       = rules{of("spec", always(rules{of("parentRef", requiredIfNil, in(rules{
		given("group", subdomain), of("resource", required, roleName), of("name", required, roleName), given("namespace", roleName),
	}))}))}
	csiDriver = rules{of("spec", always(rules{
		given("fsGroupPolicy", mustBe("File", "None", "ReadWriteOnceWithFSType")), given("tokenRequests", tokens), given("volumeLifecycleModes", lifecycleModes),
		given("nodeAllocatableUpdatePeriodSeconds", between(10, 1<<62, "must be greater than or equal to 10 seconds")),
	}))}
)

// userPriority follows ValidatePriorityClass of scheduling/validation, for classes of users and of
// the system.
func userPriority(f fieldOf) {
	const most, prefix = 1000000000, "system-"
	value, _ := f.value.(int64)
	if !strings.HasPrefix(f.object, prefix) {
		if value > most {
			f.add(field.Forbidden(f.path(), fmt.Sprintf("maximum allowed value of a user defined priority is %d", most)))
		}
		return
	}
	known := map[string]int64{"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}
	if known[f.object] == 0 {
		f.add(field.Forbidden(field.NewPath("metadata", "name"), "priority class names with '"+prefix+"' prefix are reserved for system use only. error: "+f.object+" is not a known system priority class"))
	}
}

// tokens is validateTokenRequests of storage/validation.
func tokens(f fieldOf) {
	seen := map[string]bool{}
	for i, v := range list(f.value) {
		m, _ := v.(map[string]any)
		path, audience := f.path().Index(i), text(m["audience"])
		if seen[audience] {
			f.add(field.Duplicate(path.Child("audience"), audience))
			continue
		}
		seen[audience] = true
		seconds := fieldOf{f.faults, path.Child("expirationSeconds"), "", m["expirationSeconds"], m}
		between(600, 1<<62, "may not specify a duration less than 10 minutes")(seconds)
		between(-1<<62, 1<<32, "may not specify a duration larger than 2^32 seconds")(seconds)
	}
}

func lifecycleModes(f fieldOf) {
	for _, v := range list(f.value) {
		mustBe("Persistent", "Ephemeral")(fieldOf{f.faults, f.path(), "", v, f.within})
	}
}
