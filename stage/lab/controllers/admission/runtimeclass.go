package admission

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/quota"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// applyRuntimeClass gives a new Pod the overhead, the node selector and the tolerations of its
// RuntimeClass.
func applyRuntimeClass(v *memory.Review) error {
	spec := fields.Map(v.New.Object, "spec")
	if fields.Value(spec, "runtimeClassName") == nil && fields.Value(spec, "overhead") == nil {
		return nil
	}
	refuse := func(format string, args ...any) error {
		return apierrors.NewForbidden(v.Resource, v.Name.Name, fmt.Errorf(format, args...))
	}
	name, overhead := fields.String(spec, "runtimeClassName"), fields.Map(spec, "overhead")
	var class, wanted map[string]any
	if name != "" {
		stored := v.Get(kinds.RuntimeClass, types.NamespacedName{Name: name})
		if stored == nil {
			return refuse("pod rejected: RuntimeClass %q not found", name)
		}
		class = stored.Object
		wanted = fields.Map(class, "overhead", "podFixed")
	}
	switch {
	case wanted == nil && overhead != nil:
		return refuse("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
	case len(overhead) > 0 && !equality.Semantic.DeepEqual(amounts(overhead), amounts(wanted)):
		return refuse("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
	}
	next := maps.Clone(spec)
	if wanted != nil {
		next["overhead"] = maps.Clone(wanted)
	}
	if scheduling := fields.Map(class, "scheduling"); scheduling != nil {
		if err := schedule(next, scheduling); err != nil {
			return refuse("%w", err)
		}
	}
	if class != nil {
		v.New.Object["spec"] = next
	}
	return nil
}

// amounts reads quantities, by which 0.5 and 500m are equal.
func amounts(m map[string]any) quota.Quantities {
	return quota.Requests(map[string]any{"resources": map[string]any{"requests": m}})
}

// schedule adds the node selector and the tolerations of a class to the spec of a Pod.
func schedule(spec, scheduling map[string]any) error {
	selector := fields.CloneMap(spec, "nodeSelector")
	for _, key := range slices.Sorted(maps.Keys(fields.Map(scheduling, "nodeSelector"))) {
		wanted := fields.Value(scheduling, "nodeSelector", key)
		if given, found := selector[key]; found && given != wanted {
			return fmt.Errorf("conflict: runtimeClass.scheduling.nodeSelector[%s] = %v; pod.spec.nodeSelector[%s] = %v", key, wanted, key, given)
		}
		selector[key] = wanted
	}
	setNonEmpty(spec, "nodeSelector", selector)
	var given, more corev1.PodSpec
	convert := runtime.DefaultUnstructuredConverter
	if convert.FromUnstructured(map[string]any{"tolerations": fields.Value(spec, "tolerations")}, &given) != nil ||
		convert.FromUnstructured(map[string]any{"tolerations": fields.Value(scheduling, "tolerations")}, &more) != nil {
		return errors.New("the tolerations have a wrong type")
	}
	merged := corev1.PodSpec{Tolerations: mergeTolerations(given.Tolerations, more.Tolerations)}
	text, err := convert.ToUnstructured(&merged)
	if err != nil {
		return err
	}
	if list := fields.Slice(text, "tolerations"); len(list) > 0 {
		spec["tolerations"] = list
	}
	return nil
}

// mergeTolerations returns both lists without a toleration that another one includes, as MergeTolerations
// of k8s.io/kubernetes/pkg/util/tolerations does.
func mergeTolerations(first, second []corev1.Toleration) (merged []corev1.Toleration) {
	all := slices.Concat(first, second)
	for i, t := range all {
		includes := func(other corev1.Toleration) bool { return includesToleration(other, t) }
		// Of equal ones the first stays.
		more := func(other corev1.Toleration) bool { return !equality.Semantic.DeepEqual(other, t) && includes(other) }
		if !slices.ContainsFunc(merged, includes) && !slices.ContainsFunc(all[i+1:], more) {
			merged = append(merged, t)
		}
	}
	return merged
}

// includesToleration reports whether a toleration tolerates everything that another one does.
func includesToleration(t, other corev1.Toleration) bool {
	switch {
	case equality.Semantic.DeepEqual(t, other):
		return true
	case other.Key != t.Key && (t.Key != "" || t.Operator != corev1.TolerationOpExists), other.Effect != t.Effect && t.Effect != "":
		return false
	case t.Effect == corev1.TaintEffectNoExecute && t.TolerationSeconds != nil && (other.TolerationSeconds == nil || *other.TolerationSeconds > *t.TolerationSeconds):
		return false
	case t.Operator == corev1.TolerationOpEqual || t.Operator == "":
		return other.Operator == corev1.TolerationOpEqual && other.Value == t.Value
	}
	return t.Operator == corev1.TolerationOpExists
}
