package admission

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/quota"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// An asked has the requests and limits of a container, a Pod or a claim.
type asked struct {
	kind             string // as in LimitRanges
	requests, limits quota.Quantities
}

// outOfBounds returns where a Pod or a claim is out of the bounds of one limit of a LimitRange.
func outOfBounds(v *memory.Review, limit map[string]any) (errs []error) {
	spec := fields.Map(v.New.Object, "spec")
	switch kind := fields.String(limit, "type"); {
	case kind == "PersistentVolumeClaim" && v.Resource == claims:
		return claimOutOfBounds(asked{kind: kind, requests: quota.Requests(spec)}, limit)
	case kind == "Container" && v.Resource == pods:
		for _, c := range slices.Concat(fields.Maps(spec, "containers"), fields.Maps(spec, "initContainers")) {
			errs = append(errs, asked{kind, quota.Requests(c), quota.Limits(c)}.outOf(limit)...)
		}
	case kind == "Pod" && v.Resource == pods:
		return asked{kind, quota.PodRequests(with(spec, "overhead", nil)), quota.PodLimits(with(spec, "overhead", nil))}.outOf(limit)
	}
	return errs
}

func claimOutOfBounds(a asked, limit map[string]any) (errs []error) {
	each(limit, "min", func(name string, bound resource.Quantity) { errs = append(errs, a.belowMin(name, bound)) })
	each(limit, "max", func(name string, bound resource.Quantity) {
		switch n, ok := a.requests[name]; {
		case !ok:
			errs = append(errs, fmt.Errorf("maximum %s usage per %s is %s.  No request is specified", name, a.kind, bound.String()))
		case n.Cmp(bound) > 0:
			errs = append(errs, fmt.Errorf("maximum %s usage per %s is %s, but request is %s", name, a.kind, bound.String(), n.String()))
		}
	})
	return errs
}

func (a asked) outOf(limit map[string]any) (errs []error) {
	each(limit, "min", func(name string, bound resource.Quantity) { errs = append(errs, a.belowMin(name, bound)) })
	each(limit, "max", func(name string, bound resource.Quantity) { errs = append(errs, a.aboveMax(name, bound)) })
	each(limit, "maxLimitRequestRatio", func(name string, bound resource.Quantity) { errs = append(errs, a.aboveRatio(name, bound)) })
	return errs
}

// each calls a function for each bound of a kind, by name.
func each(limit map[string]any, kind string, do func(string, resource.Quantity)) {
	bounds := fields.Map(limit, kind)
	for _, name := range slices.Sorted(maps.Keys(bounds)) {
		if bound, err := resource.ParseQuantity(fmt.Sprint(bounds[name])); err == nil {
			do(name, bound)
		}
	}
}

func (a asked) belowMin(name string, bound resource.Quantity) error {
	request, requested := a.requests[name]
	limit, limited := a.limits[name]
	text := fmt.Sprintf("minimum %s usage per %s is %s", name, a.kind, bound.String())
	switch {
	case !requested:
		return fmt.Errorf("%s.  No request is specified", text)
	case request.Cmp(bound) < 0:
		return fmt.Errorf("%s, but request is %s", text, request.String())
	case limited && limit.Cmp(bound) < 0:
		return fmt.Errorf("%s, but limit is %s", text, limit.String())
	}
	return nil
}

func (a asked) aboveMax(name string, bound resource.Quantity) error {
	request, requested := a.requests[name]
	limit, limited := a.limits[name]
	text := fmt.Sprintf("maximum %s usage per %s is %s", name, a.kind, bound.String())
	switch {
	case !limited:
		return fmt.Errorf("%s.  No limit is specified", text)
	case limit.Cmp(bound) > 0:
		return fmt.Errorf("%s, but limit is %s", text, limit.String())
	case requested && request.Cmp(bound) > 0:
		return fmt.Errorf("%s, but request is %s", text, request.String())
	}
	return nil
}

func (a asked) aboveRatio(name string, bound resource.Quantity) error {
	request, limit := a.requests[name], a.limits[name]
	text := fmt.Sprintf("%s max limit to request ratio per %s is %s", name, a.kind, bound.String())
	switch {
	case request.IsZero():
		return fmt.Errorf("%s, but no request is specified or request is 0", text)
	case limit.IsZero():
		return fmt.Errorf("%s, but no limit is specified or limit is 0", text)
	}
	if ratio := limit.AsApproximateFloat64() / request.AsApproximateFloat64(); ratio > bound.AsApproximateFloat64() {
		return fmt.Errorf("%s, but provided ratio is %f", text, ratio)
	}
	return nil
}

// aboveLimits returns which containers request more than their limit, as they may after defaults
// were set.
func aboveLimits(pod map[string]any) (faults field.ErrorList) {
	for _, group := range []string{"containers", "initContainers"} {
		for i, c := range fields.Maps(pod, "spec", group) {
			requests, limits := quota.Requests(c), quota.Limits(c)
			for _, name := range slices.Sorted(maps.Keys(limits)) {
				request, limit := requests[name], limits[name]
				if request.Cmp(limit) > 0 {
					path := field.NewPath("spec", group).Index(i).Child("resources", "requests")
					faults = append(faults, field.Invalid(path, request.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String())))
				}
			}
		}
	}
	return faults
}
