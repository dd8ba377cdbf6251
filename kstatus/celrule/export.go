package celrule

import (
	"regexp"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/position"
)

// Flux returns the Spec as an entry of healthCheckExprs, for objects of a version, such as v1. The
// message is left out, because Flux has none.
//
// The expressions are those of the Spec with guards for missing fields, because in Flux an
// expression that fails is an error of the whole check, and here it counts as not true. Two
// differences remain, with which Flux goes on waiting: an expression that uses status fails on an
// object without one, and an operator or function that a value does not suit, such as "a" > 1, is not
// guarded.
//
// The error is of type [Errors]: a Spec that does not compile or that Flux cannot express, such as
// one for several groups, or with Now().
func (s Spec) Flux(version string) (HealthCheck, error) {
	x, faults := &exporter{library: fluxLibrary}, s.faults()
	check := HealthCheck{APIVersion: schema.GroupVersion{Group: s.Group, Version: version}.String(), Kind: s.Kind}
	if s.Kind == "*" {
		check.Kind = ""
	}
	if s.Group != "" && s.Group[0] == '*' {
		faults.Addf("group", "%q: a check of Flux is for one group", s.Group)
	}
	check.InProgress = x.export("inProgress", s.InProgress, faults)
	check.Failed = x.export("failed", s.Failed, faults)
	check.Current = x.export("current", s.Current, faults)
	if errs := position.All(faults.Err()); len(errs) > 0 {
		return HealthCheck{}, placed(nil, errs)
	}
	return check, nil
}

// Kro returns the Spec as the readyWhen expressions of a resource in a ResourceGraphDefinition of
// kro, where the resource has an id: the resource is ready when its latest generation was observed,
// and the Spec says neither that it is in progress nor that it failed; it says that the object is current.
//
// Fields that may be missing are guarded as in [Spec.Flux]. The error is of type [Errors]: the id
// is none, or the Spec does not compile or uses what kro does not have.
func (s Spec) Kro(id string) ([]string, error) {
	x, faults := &exporter{self: id, library: kroLibrary}, s.faults()
	if !identifier.MatchString(id) {
		faults.Addf("id", "%q is no id of a resource, such as database", id)
	}
	ready := []string{strings.ReplaceAll(observed, "self", id)}
	for _, not := range []struct{ field, source string }{{"inProgress", s.InProgress}, {"failed", s.Failed}} {
		if source := x.export(not.field, not.source, faults); source != "" {
			ready = append(ready, "!("+source+")")
		}
	}
	ready = append(ready, x.export("current", s.Current, faults))
	if errs := position.All(faults.Err()); len(errs) > 0 {
		return nil, placed(nil, errs)
	}
	for i, source := range ready {
		ready[i] = "${" + source + "}"
	}
	return ready, nil
}

// observed is true if the latest generation was observed, as [kstatus.Extended] reads it: also from
// digits.
const observed = `!has(self.metadata.generation) || !has(self.status) || !has(self.status.observedGeneration) || ` +
	`!string(dyn(self.status.observedGeneration)).matches("^[0-9]+$") || int(dyn(self.status.observedGeneration)) >= self.metadata.generation`

var identifier = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)

// faults returns the faults of a Spec.
func (s Spec) faults() *position.Faults {
	faults := &position.Faults{}
	_, errs := compile("", []Spec{s})
	for _, e := range errs {
		e.Path = strings.TrimPrefix(e.Path, "[0].")
		faults.Add(e)
	}
	return faults
}

// fluxLibrary is what github.com/fluxcd/pkg/runtime/cel gives to health checks.
var fluxLibrary = []cel.EnvOption{
	cel.HomogeneousAggregateLiterals(), cel.DefaultUTCTimeZone(true), cel.CrossTypeNumericComparisons(true),
	cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Encoders(),
}

// kroLibrary is what github.com/kubernetes-sigs/kro/pkg/cel gives to readyWhen, except for the
// functions of Kubernetes and kro, which our expressions do not have.
var kroLibrary = []cel.EnvOption{
	ext.TwoVarComprehensions(), ext.Lists(), ext.Strings(), ext.Bindings(), cel.OptionalTypes(), ext.Encoders(),
}
