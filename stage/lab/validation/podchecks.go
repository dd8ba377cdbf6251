package validation

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// mustBe is oneOf, for a text that must not be empty.
func mustBe(values ...string) check {
	return func(f fieldOf) {
		if !slices.Contains(values, text(f.value)) {
			f.add(field.NotSupported(f.path(), text(f.value), values))
		}
	}
}

func header(f fieldOf) {
	for _, message := range validation.IsHTTPHeaderName(text(f.value)) {
		f.add(field.Invalid(parentOf(parentField(f.path())), text(f.value), message))
	}
}

// oneHandler requires one of the ways in which a probe or a hook acts.
func oneHandler(names ...string) check {
	return func(f fieldOf) {
		n := 0
		for _, name := range names {
			if f.within[name] == nil {
				continue
			}
			if n++; n > 1 {
				f.add(field.Forbidden(f.path().Child(name), "may not specify more than 1 handler type"))
			}
		}
		if n == 0 {
			f.add(field.Required(f.path(), "must specify a handler type"))
		}
	}
}

func oneSource(f fieldOf) {
	n := len(f.within)
	switch {
	case n == 0:
		f.add(field.Invalid(f.path(), "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"))
	case n > 1:
		f.add(field.Invalid(f.path(), "", "may not have more than one field specified at a time"))
	}
}

func oneEnvSource(f fieldOf) {
	if f.within["configMapRef"] == nil && f.within["secretRef"] == nil {
		f.add(field.Invalid(parentOf(f.path()), "", "must specify one of: `configMapRef` or `secretRef`"))
	}
}

// parentOf is the list that an element is in.
func parentOf(path *field.Path) *field.Path {
	s := path.String()
	return field.NewPath(s[:strings.LastIndexByte(s, '[')])
}

// fieldPaths are the fields of a Pod that its containers can be given.
var fieldPaths = []string{"metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels", "metadata.annotations", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"}

func fieldPath(f fieldOf) {
	s := text(f.value)
	if version := text(f.within["apiVersion"]); s != "" && version != "" && version != "v1" {
		f.add(field.Invalid(f.path(), s, "error converting fieldPath: unsupported pod version: "+version))
		return
	}
	if s == "" || slices.Contains(fieldPaths, s) || strings.HasPrefix(s, "metadata.labels['") || strings.HasPrefix(s, "metadata.annotations['") {
		return
	}
	f.add(field.Invalid(f.path(), s, "error converting fieldPath: field label not supported: "+s))
}

func requiredPort(f fieldOf) {
	if isEmpty(f.value) {
		f.add(field.Required(f.path(), ""))
		return
	}
	portNumber(f)
}

// hostPort is the port on the Node, if the Pod has one.
func hostPort(f fieldOf) {
	if !isEmpty(f.value) {
		portNumber(f)
	}
}

// requestsWithinLimits refuses a request above its limit. For resources that cannot be shared, it
// refuses a request that differs from its limit.
func requestsWithinLimits(f fieldOf) {
	requests, _ := f.value.(map[string]any)
	limits := nested(f.within, "limits")
	for _, name := range sortedKeys(requests) {
		request, ok := quantity(requests[name])
		limit, limited := quantity(limits[name])
		exact := strings.Contains(name, "/") || strings.HasPrefix(name, "hugepages-")
		switch {
		case !ok:
		case !limited && exact:
			f.add(field.Required(child(f.path().Root(), ""), "Limit must be set for non overcommitable resources"))
		case limited && exact && request.Cmp(limit) != 0:
			f.add(field.Invalid(f.path(), request.String(), fmt.Sprintf("must be equal to %s limit of %s", name, limit.String())))
		case limited && request.Cmp(limit) > 0:
			f.add(field.Invalid(f.path(), request.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String())))
		}
	}
}

func uniqueMounts(f fieldOf) {
	seen := map[string]bool{}
	for i, v := range list(f.value) {
		m, _ := v.(map[string]any)
		path := text(m["mountPath"])
		if path != "" && seen[path] {
			f.add(field.Invalid(f.path().Index(i).Child("mountPath"), path, "must be unique"))
		}
		seen[path] = true
	}
}

// onlySidecars refuses fields of init containers that end.
func onlySidecars(names ...string) check {
	return func(f fieldOf) {
		m, _ := f.value.(map[string]any)
		for _, name := range names {
			if m[name] == nil || text(m["restartPolicy"]) == "Always" {
				continue
			}
			f.add(field.Forbidden(f.path().Child(name), "may not be set for init containers without restartPolicy=Always"))
		}
	}
}

// mountsOfVolumes refuses mounts of volumes that a Pod does not have.
func mountsOfVolumes(f fieldOf) {
	volumes := map[string]bool{}
	for _, v := range list(f.within["volumes"]) {
		m, _ := v.(map[string]any)
		volumes[text(m["name"])] = isVolume(m)
	}
	for _, kind := range []string{"containers", "initContainers"} {
		for i, c := range list(f.within[kind]) {
			m, _ := c.(map[string]any)
			for j, v := range list(m["volumeMounts"]) {
				mount, _ := v.(map[string]any)
				if name := text(mount["name"]); !volumes[name] {
					f.add(field.NotFound(f.path().Child(kind).Index(i).Child("volumeMounts").Index(j).Child("name"), name))
				}
			}
		}
	}
}

func uniqueContainers(f fieldOf) {
	seen := map[string]bool{}
	for _, kind := range []string{"containers", "initContainers"} {
		for i, c := range list(f.within[kind]) {
			m, _ := c.(map[string]any)
			name := text(m["name"])
			if name != "" && seen[name] {
				f.add(field.Duplicate(f.path().Child(kind).Index(i).Child("name"), name))
			}
			seen[name] = true
		}
	}
}

// uniqueHostPorts refuses the second use of a port of the Node.
func uniqueHostPorts(f fieldOf) {
	seen := map[string]bool{}
	for i, c := range list(f.within["containers"]) {
		m, _ := c.(map[string]any)
		for j, v := range list(m["ports"]) {
			p, _ := v.(map[string]any)
			path := f.path().Child("containers").Index(i).Child("ports").Index(j)
			n, _ := p["hostPort"].(int64)
			if n == 0 {
				continue
			}
			key := fmt.Sprintf("%s/%s/%d", text(p["protocol"]), text(p["hostIP"]), n)
			if seen[key] {
				f.add(field.Duplicate(path.Child("hostPort"), key))
			}
			seen[key] = true
		}
	}
}

func nodeOperator(f fieldOf) {
	operator, values := text(f.value), list(f.within["values"])
	path := parentField(f.path()).Child("values")
	switch operator {
	case "In", "NotIn":
		if len(values) == 0 {
			f.add(field.Required(path, "must be specified when `operator` is 'In' or 'NotIn'"))
		}
	case "Exists", "DoesNotExist":
		if len(values) > 0 {
			f.add(field.Forbidden(path, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
		}
	case "Gt", "Lt":
		if len(values) != 1 {
			f.add(field.Required(path, "must be specified single value when `operator` is 'Lt' or 'Gt'"))
		}
	default:
		f.add(field.Invalid(f.path(), operator, "not a valid selector operator"))
	}
	elements(labelText)(fieldOf{f.faults, path, "", f.within["values"], f.within})
}

// parentField is the object that a field is in.
func parentField(path *field.Path) *field.Path {
	s := path.String()
	return field.NewPath(s[:strings.LastIndexByte(s, '.')])
}

func effectOfSeconds(f fieldOf) {
	if f.within["tolerationSeconds"] != nil && text(f.within["effect"]) != "NoExecute" {
		f.add(field.Invalid(f.path().Child("effect"), text(f.within["effect"]), "effect must be 'NoExecute' when `tolerationSeconds` is set"))
	}
}

func keyOfOperator(f fieldOf) {
	operator, key, value := text(f.within["operator"]), text(f.within["key"]), text(f.within["value"])
	switch {
	case key == "" && operator != "Exists":
		f.add(field.Invalid(f.path().Child("operator"), operator, "operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
	case operator == "Exists" && value != "":
		f.add(field.Invalid(f.path().Child("operator"), value, "value must be empty when `operator` is 'Exists'"))
	case operator == "" || operator == "Equal":
		for _, message := range validation.IsValidLabelValue(value) {
			f.add(field.Invalid(f.path().Child("operator"), value, message))
		}
	}
}

func schedulingGates(f fieldOf) {
	seen := map[string]bool{}
	for i, v := range list(f.value) {
		m, _ := v.(map[string]any)
		name := text(m["name"])
		nonEmptyQualified(fieldOf{f.faults, f.path().Index(i), "", name, m})
		if seen[name] {
			f.add(field.Duplicate(f.path().Index(i), name))
		}
		seen[name] = true
	}
}

func dnsOption(f fieldOf) {
	if text(f.within["name"]) == "" {
		f.add(field.Required(f.path(), "must not be empty"))
	}
}

func osName(f fieldOf) {
	if name := text(nested(f.within, "os")["name"]); name != "" && name != "linux" && name != "windows" {
		f.add(field.NotSupported(f.path(), name, []string{"linux", "windows"}))
	}
}

var sysctlName = regexp.MustCompile(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`)

func sysctl(f fieldOf) {
	if s := text(f.value); s != "" && (len(s) > 253 || !sysctlName.MatchString(s)) {
		f.add(field.Invalid(f.path(), s, "must have at most 253 characters and match regex "+sysctlName.String()))
	}
}

// uniqueSpreads refuses the second constraint of a key and an action.
func uniqueSpreads(f fieldOf) {
	seen := map[string]bool{}
	for i, v := range list(f.value) {
		m, _ := v.(map[string]any)
		pair := fmt.Sprintf("{%s, %s}", text(m["topologyKey"]), text(m["whenUnsatisfiable"]))
		if seen[pair] {
			f.add(field.Duplicate(f.path().Index(i).Child("{topologyKey, whenUnsatisfiable}"), pair))
		}
		seen[pair] = true
	}
}

// portsOfHost is for Pods in the network of their Node. It refuses ports of the Node that differ
// from the ports of the container.
func portsOfHost(f fieldOf) {
	if f.within["hostNetwork"] != true {
		return
	}
	for i, c := range list(f.within["containers"]) {
		m, _ := c.(map[string]any)
		for j, v := range list(m["ports"]) {
			if p, _ := v.(map[string]any); !isEmpty(p["hostPort"]) && !alike(p["hostPort"], p["containerPort"]) {
				f.add(field.Invalid(f.path().Child("containers").Index(i).Child("ports").Index(j).Child("hostPort"), p["hostPort"], "must match `containerPort` when `hostNetwork` is true"))
			}
		}
	}
}
