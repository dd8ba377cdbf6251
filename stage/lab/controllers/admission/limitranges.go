package admission

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var (
	pods   = schema.GroupResource{Resource: "pods"}
	claims = schema.GroupResource{Resource: "persistentvolumeclaims"}
	ranges = schema.GroupResource{Resource: "limitranges"}
)

// LimitRanges gives the containers of new Pods the default requests and limits of the LimitRanges
// in the namespace. It refuses Pods and claims that are out of their bounds.
func LimitRanges(v *memory.Review) error {
	switch {
	case v.Resource == ranges:
		completeRange(v.New.Object)
		return nil
	case v.Resource != claims && (v.Resource != pods || v.Old != nil), v.Old != nil && v.Old.GetDeletionTimestamp() != nil:
		return nil
	}
	found := v.List(kinds.LimitRange, v.Name.Namespace)
	if v.Resource == pods && len(found) > 0 {
		setDefaults(v.New.Object, found)
		if faults := aboveLimits(v.New.Object); len(faults) > 0 {
			return apierrors.NewInvalid(kinds.Pod.GroupKind(), v.Name.Name, faults)
		}
	}
	for _, r := range found {
		var errs []error
		for _, limit := range fields.Maps(r.Object, "spec", "limits") {
			errs = append(errs, outOfBounds(v, limit)...)
		}
		if err := utilerrors.NewAggregate(errs); err != nil {
			return apierrors.NewForbidden(v.Resource, v.Name.Name, errors.New(err.Error()))
		}
	}
	return nil
}

// completeRange sets the defaults of a LimitRange that follow from its bounds.
func completeRange(obj map[string]any) {
	limits := slices.Clone(fields.Slice(obj, "spec", "limits"))
	for i, l := range limits {
		limit, _ := l.(map[string]any)
		if fields.String(limit, "type") != "Container" {
			continue
		}
		limit = maps.Clone(limit)
		byDefault := merged(fields.Map(limit, "max"), fields.Map(limit, "default"))
		setNonEmpty(limit, "default", byDefault)
		setNonEmpty(limit, "defaultRequest", merged(fields.Map(limit, "min"), byDefault, fields.Map(limit, "defaultRequest")))
		limits[i] = limit
	}
	if len(limits) > 0 {
		obj["spec"] = with(fields.Map(obj, "spec"), "limits", limits)
	}
}

// merged returns a map with the fields of all maps. A later map overrides an earlier one.
func merged(all ...map[string]any) map[string]any {
	sum := map[string]any{}
	for _, m := range all {
		maps.Copy(sum, m)
	}
	return sum
}

func setNonEmpty(m map[string]any, name string, value map[string]any) {
	if len(value) > 0 {
		m[name] = value
	}
}

const limitsAnnotation = "kubernetes.io/limit-ranger"

// setDefaults gives the containers of a Pod the defaults of the LimitRanges. A container that has a
// limit and no request requests its limit, because API servers set this first.
func setDefaults(pod map[string]any, found []*unstructured.Unstructured) {
	spec := maps.Clone(fields.Map(pod, "spec"))
	said := ""
	for _, group := range []struct{ field, name string }{{"containers", "container"}, {"initContainers", "init container"}} {
		if list := fields.Slice(spec, group.field); len(list) > 0 {
			spec[group.field] = withRequests(list)
		}
	}
	for _, r := range found {
		requests, limits := defaultsOf(r)
		var set []string
		for _, group := range []struct{ field, name string }{{"containers", "container"}, {"initContainers", "init container"}} {
			for _, c := range fields.Maps(spec, group.field) {
				set = append(set, complete(c, requests, limits, group.name)...)
			}
		}
		if len(set) > 0 {
			said = "LimitRanger plugin set: " + strings.Join(set, "; ")
		}
	}
	pod["spec"] = spec
	if said != "" {
		metadata := fields.Map(pod, "metadata")
		metadata["annotations"] = with(fields.CloneMap(metadata, "annotations"), limitsAnnotation, said)
	}
}

// withRequests returns copies of containers that request their limits, unless they have a request.
func withRequests(list []any) []any {
	next := make([]any, len(list))
	for i, v := range list {
		c, ok := v.(map[string]any)
		if next[i] = v; !ok {
			continue
		}
		c = maps.Clone(c)
		resources := fields.CloneMap(c, "resources")
		setNonEmpty(resources, "requests", merged(fields.Map(resources, "limits"), fields.Map(resources, "requests")))
		setNonEmpty(resources, "limits", merged(fields.Map(resources, "limits")))
		c["resources"], next[i] = resources, c
	}
	return next
}

// defaultsOf returns the defaults of a LimitRange for containers.
func defaultsOf(r *unstructured.Unstructured) (requests, limits map[string]any) {
	requests, limits = map[string]any{}, map[string]any{}
	for _, limit := range fields.Maps(r.Object, "spec", "limits") {
		if fields.String(limit, "type") == "Container" {
			maps.Copy(requests, fields.Map(limit, "defaultRequest"))
			maps.Copy(limits, fields.Map(limit, "default"))
		}
	}
	return requests, limits
}

// complete sets the defaults of one container. It returns a text for each default that it set.
func complete(container, requests, limits map[string]any, kind string) (said []string) {
	resources := fields.Map(container, "resources")
	for _, group := range []struct {
		field, name string
		byDefault   map[string]any
	}{{"requests", "request", requests}, {"limits", "limit", limits}} {
		var set []string
		has := fields.Map(resources, group.field)
		for _, name := range slices.Sorted(maps.Keys(group.byDefault)) {
			if _, found := has[name]; !found {
				set = append(set, name)
			}
		}
		if len(set) > 0 {
			resources[group.field] = merged(group.byDefault, has)
			said = append(said, fmt.Sprintf("%s %s for %s %s", strings.Join(set, ", "), group.name, kind, fields.String(container, "name")))
		}
	}
	return said
}
