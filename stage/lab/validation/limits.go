package validation

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// limitAmounts is what ValidateLimitRange of core/validation says of the amounts of one limit.
func limitAmounts(f fieldOf) {
	kind := text(f.within["type"])
	if kind == "Pod" {
		for _, name := range []string{"default", "defaultRequest"} {
			if !isEmpty(f.within[name]) {
				f.add(field.Forbidden(f.path().Child(name), "may not be specified when `type` is 'Pod'"))
			}
		}
	}
	if kind == "PersistentVolumeClaim" && nested(f.within, "min")["storage"] == nil && nested(f.within, "max")["storage"] == nil {
		f.add(field.Required(f.path().Child("limits"), "either minimum or maximum storage value is required, but neither was provided"))
	}
	for _, name := range limitedResources(f.within) {
		amountsOf(f, name).check(kind == "Pod")
	}
}

// limitedResources returns the resources that a limit names.
func limitedResources(limit map[string]any) (names []string) {
	for _, name := range []string{"max", "min", "default", "defaultRequest", "maxLimitRequestRatio"} {
		names = append(names, sortedKeys(nested(limit, name))...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// amounts are those of one resource in a limit; nil if they are not given.
type amounts struct {
	fieldOf
	resource                               string
	least, most, limit, request, mostRatio *resource.Quantity
}

func amountsOf(f fieldOf, name string) amounts {
	of := func(kind string) *resource.Quantity {
		q, ok := quantity(nested(f.within, kind)[name])
		if !ok {
			return nil
		}
		return &q
	}
	return amounts{f, name, of("min"), of("max"), of("default"), of("defaultRequest"), of("maxLimitRequestRatio")}
}

func (a amounts) check(isPod bool) {
	if isPod {
		a.limit, a.request = nil, nil
	}
	for _, c := range []struct {
		small, large, printed *resource.Quantity
		at, text              string
	}{
		{a.least, a.most, a.least, "min", "min value %s is greater than max value %s"},
		{a.least, a.request, a.request, "defaultRequest", "min value %s is greater than default request value %s"},
		{a.request, a.most, a.request, "defaultRequest", "default request value %s is greater than max value %s"},
		{a.request, a.limit, a.request, "defaultRequest", "default request value %s is greater than default limit value %s"},
		{a.least, a.limit, a.least, "default", "min value %s is greater than default value %s"},
		{a.limit, a.most, a.most, "default", "default value %s is greater than max value %s"},
	} {
		if c.small != nil && c.large != nil && c.small.Cmp(*c.large) > 0 {
			a.refuse(c.at, c.printed, fmt.Sprintf(c.text, c.small, c.large))
		}
	}
	if a.mostRatio != nil {
		a.ratio()
	}
}

func (a amounts) refuse(at string, value *resource.Quantity, message string) {
	a.add(field.Invalid(a.path().Child(at).Key(a.resource), value.String(), message))
}

// ratio checks maxLimitRequestRatio.
func (a amounts) ratio() {
	const at = "maxLimitRequestRatio"
	if a.mostRatio.Cmp(*resource.NewQuantity(1, resource.DecimalSI)) < 0 {
		a.refuse(at, a.mostRatio, fmt.Sprintf("ratio %s is less than 1", a.mostRatio))
	}
	if a.least == nil || a.most == nil {
		return
	}
	ratio, least, most := float64(a.mostRatio.Value()), a.least.Value(), a.most.Value()
	if a.mostRatio.Value() < resource.MaxMilliValue && least < resource.MaxMilliValue && most < resource.MaxMilliValue {
		ratio, least, most = float64(a.mostRatio.MilliValue())/1000, a.least.MilliValue(), a.most.MilliValue()
	}
	if bound := float64(most) / float64(least); ratio > bound {
		a.refuse(at, a.mostRatio, fmt.Sprintf("ratio %s is greater than max/min = %f", a.mostRatio, bound))
	}
}
