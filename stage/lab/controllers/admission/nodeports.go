package admission

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// The default range of node ports. A port that the server picks comes from above the first 86, as
// long as one is free there.
const (
	firstPort, lastPort = 30000, 32767
	firstDynamic        = firstPort + 86
)

var services = schema.GroupResource{Resource: "services"}

// NodePorts allocates the node ports of Services of the types NodePort and LoadBalancer. It refuses
// a port of another Service, and a port outside the range 30000–32767.
func NodePorts(v *memory.Review) error {
	if v.Resource != services {
		return nil
	}
	ports := fields.Maps(v.New.Object, "spec", "ports")
	if !hasNodePorts(v.New.Object) {
		return withoutNodePorts(v, ports)
	}
	a := allocation{review: v, own: map[int64]bool{}}
	next, faults := make([]any, len(ports)), field.ErrorList(nil)
	for i, p := range a.recalled(ports) {
		path := field.NewPath("spec", "ports").Index(i).Child("nodePort")
		n := fields.Int64(p, 0, "nodePort")
		if fault := a.take(path, n); fault != nil {
			faults = append(faults, fault)
		}
		next[i] = p
	}
	if len(faults) > 0 {
		return apierrors.NewInvalid(kinds.Service.GroupKind(), v.Name.Name, faults)
	}
	for i, p := range next {
		if p := p.(map[string]any); fields.Int64(p, 0, "nodePort") == 0 && allocates(v.New.Object) {
			n, err := a.any()
			if err != nil {
				return apierrors.NewInternalError(fmt.Errorf("failed to allocate a nodePort: %w", err))
			}
			next[i] = with(p, "nodePort", n)
		}
	}
	setPorts(v, next)
	return a.healthCheck()
}

// healthCheck allocates the port at which Nodes tell a load balancer whether they have Pods of the
// Service. Services with the external traffic policy Local have such a port.
func (a *allocation) healthCheck() error {
	service := a.review.New.Object
	if fields.String(service, "spec", "type") != "LoadBalancer" || fields.String(service, "spec", "externalTrafficPolicy") != "Local" {
		return nil
	}
	n := fields.Int64(service, 0, "spec", "healthCheckNodePort")
	if a.review.Old != nil && n == 0 {
		n = fields.Int64(a.review.Old.Object, 0, "spec", "healthCheckNodePort")
	}
	if n == 0 {
		var err error
		if n, err = a.any(); err != nil {
			return apierrors.NewInternalError(fmt.Errorf("failed to allocate a healthCheckNodePort: %w", err))
		}
	}
	service["spec"] = with(fields.Map(service, "spec"), "healthCheckNodePort", n)
	return nil
}

func hasNodePorts(service map[string]any) bool {
	kind := fields.String(service, "spec", "type")
	return kind == "NodePort" || kind == "LoadBalancer"
}

// allocates reports whether ports of a Service get node ports without asking for them.
func allocates(service map[string]any) bool {
	allocate, said := fields.Value(service, "spec", "allocateLoadBalancerNodePorts").(bool)
	return fields.String(service, "spec", "type") == "NodePort" || !said || allocate
}

func with(m map[string]any, name string, value any) map[string]any {
	m = maps.Clone(m)
	m[name] = value
	return m
}

func setPorts(v *memory.Review, ports []any) {
	if len(ports) > 0 && !object.DeepEqual(fields.Slice(v.New.Object, "spec", "ports"), ports) {
		v.New.Object["spec"] = with(fields.Map(v.New.Object, "spec"), "ports", ports)
	}
}

// withoutNodePorts removes the ports that a Service had when it was of another type, and refuses
// new ports.
func withoutNodePorts(v *memory.Review, ports []map[string]any) error {
	var faults field.ErrorList
	had := map[int64]bool{}
	if v.Old != nil && hasNodePorts(v.Old.Object) {
		for _, p := range fields.Maps(v.Old.Object, "spec", "ports") {
			had[fields.Int64(p, 0, "nodePort")] = true
		}
	}
	next := make([]any, len(ports))
	for i, p := range ports {
		next[i] = p
		switch n := fields.Int64(p, 0, "nodePort"); {
		case n == 0, !slices.Contains([]string{"", "ClusterIP", "ExternalName"}, fields.String(v.New.Object, "spec", "type")): // validation refuses another type
		case had[n]:
			p = maps.Clone(p)
			delete(p, "nodePort")
			next[i] = p
		default:
			faults = append(faults, field.Forbidden(field.NewPath("spec", "ports").Index(i).Child("nodePort"), "may not be used when `type` is 'ClusterIP'"))
		}
	}
	if len(faults) > 0 {
		return apierrors.NewInvalid(kinds.Service.GroupKind(), v.Name.Name, faults)
	}
	setPorts(v, next)
	return nil
}

// An allocation is the allocation of the ports of one Service.
type allocation struct {
	review *memory.Review
	own    map[int64]bool // ports of this Service
	taken  map[int64]bool // ports of other Services; nil: not looked at yet
	tried  int64          // how many ports any has looked at: none of them is free
}

// recalled returns the ports. A port without a node port gets the node port of the stored port with
// the same name.
func (a *allocation) recalled(ports []map[string]any) []map[string]any {
	if a.review.Old == nil || !hasNodePorts(a.review.Old.Object) {
		return ports
	}
	had, used := map[string]int64{}, map[int64]bool{}
	for _, p := range fields.Maps(a.review.Old.Object, "spec", "ports") {
		had[fields.String(p, "name")] = fields.Int64(p, 0, "nodePort")
	}
	for _, p := range ports {
		used[fields.Int64(p, 0, "nodePort")] = true
	}
	next := make([]map[string]any, len(ports))
	for i, p := range ports {
		next[i] = p
		if n := had[fields.String(p, "name")]; fields.Int64(p, 0, "nodePort") == 0 && n != 0 && !used[n] {
			next[i], used[n] = with(p, "nodePort", n), true
		}
	}
	return next
}

// take takes a requested port; 0 is no request. Ports of one Service may share a node port.
func (a *allocation) take(path *field.Path, n int64) *field.Error {
	switch {
	case n == 0:
		return nil
	case n < firstPort || n > lastPort:
		return field.Invalid(path, n, fmt.Sprintf("provided port is not in the valid range. The range of valid ports is %d-%d", firstPort, lastPort))
	case a.isTaken(n):
		return field.Invalid(path, n, "provided port is already allocated")
	}
	a.own[n] = true
	return nil
}

func (a *allocation) isTaken(n int64) bool {
	if a.taken == nil {
		a.taken = map[int64]bool{}
		for _, s := range a.review.List(kinds.Service, "") {
			if s.GetName() == a.review.Name.Name && s.GetNamespace() == a.review.Name.Namespace {
				continue
			}
			a.taken[fields.Int64(s.Object, 0, "spec", "healthCheckNodePort")] = true
			for _, p := range fields.Maps(s.Object, "spec", "ports") {
				a.taken[fields.Int64(p, 0, "nodePort")] = true
			}
		}
	}
	return a.taken[n]
}

var errFull = errors.New("range is full")

// any takes a free port. It first looks in the upper part of the range, from a place that depends
// on the name of the Service, and then in the lower part.
func (a *allocation) any() (int64, error) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(a.review.Name.String()))
	from, upper := int64(h.Sum32()), int64(lastPort-firstDynamic+1)
	for ; a.tried < lastPort-firstPort+1; a.tried++ {
		n := firstDynamic + (from+a.tried)%upper
		if a.tried >= upper {
			n = firstPort + (from+a.tried-upper)%(firstDynamic-firstPort)
		}
		if !a.own[n] && !a.isTaken(n) {
			a.own[n] = true
			return n, nil
		}
	}
	return 0, errFull
}
