package validation

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// rules of cluster-scoped kinds
var (
	priorityClass   = rules{of("value", userPriority), given("preemptionPolicy", atCreation(required, oneOf("PreemptLowerPriority", "Never")))}
	cidrs           = rules{of("spec", always(rules{of("cidrs", networks)}))}
	attributesClass = rules{of("driverName", required, qualifiedLower), of("parameters", requiredFor("must contain at least one key/value pair"), classParameters)}
	ipAddress       = rules{of("", atCreation(nameOfAddress)), of("spec", always(rules{of("parentRef", requiredIfNil, in(rules{
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

// classParameters is validateParameters of storage/validation.
func classParameters(f fieldOf) {
	const most, mostBytes = 512, 256 << 10
	m, _ := f.value.(map[string]any)
	if len(m) > most {
		f.add(field.TooLong(f.path(), "", most))
		return
	}
	total := 0
	for k, v := range m {
		if k == "" {
			f.add(field.Invalid(f.path(), k, "field can not be empty."))
		}
		total += len(k) + len(text(v))
	}
	if total > mostBytes {
		f.add(field.TooLong(f.path(), "", mostBytes))
	}
}

// attributesClassUpdate is ValidateVolumeAttributesClassUpdate of storage/validation.
func attributesClassUpdate(f *faults, before, now map[string]any) {
	for _, name := range []string{"driverName", "parameters"} {
		if !alike(before[name], now[name]) {
			f.add(field.Forbidden(field.NewPath(name), "updates to "+name+" are forbidden."))
		}
	}
}

// addressUpdate is what the declarations of the type say of an IPAddress: its parent must also be named at updates.
func addressUpdate(f *faults, _, now map[string]any) {
	spec, path := nested(now, "spec"), field.NewPath("spec", "parentRef")
	parent, is := spec["parentRef"].(map[string]any)
	if !is {
		f.add(field.Required(path, ""))
		return
	}
	subdomain(fieldOf{f, path, "group", parent["group"], parent})
	required(fieldOf{f, path, "resource", parent["resource"], parent})
	required(fieldOf{f, path, "name", parent["name"], parent})
}

// topologyKeys is the end of validateCSINodeDriver of storage/validation, which names the driver.
func topologyKeys(f fieldOf) {
	path, seen := parentField(f.path()), map[string]bool{}
	for _, v := range list(f.value) {
		key := text(v)
		if key == "" {
			f.add(field.Required(path, key))
		}
		if seen[key] {
			f.add(field.Duplicate(path, key))
		}
		seen[key] = true
		for _, message := range validation.IsQualifiedName(key) {
			f.add(field.Invalid(path, key, message))
		}
	}
}

// nameOfAddress is ValidateIPAddressName of networking/validation.
func nameOfAddress(f fieldOf) {
	address(fieldOf{f.faults, field.NewPath("metadata", "name"), "", f.object, f.within})
}
