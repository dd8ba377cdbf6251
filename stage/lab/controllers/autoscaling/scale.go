package autoscaling

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// A scale is the content of the subresource scale of an object.
type scale struct {
	target       Target
	object       *unstructured.Unstructured
	spec, status int64 // replicas
	selector     string
}

// findScale returns the scale of the object that an autoscaler refers to.
func findScale(c control.Call, hpa *unstructured.Unstructured, targets []Target) (scale, error) {
	ref := fields.Map(hpa.Object, "spec", "scaleTargetRef")
	gv, err := schema.ParseGroupVersion(fields.String(ref, "apiVersion"))
	if err != nil {
		return scale{}, err
	}
	kind, name := schema.GroupKind{Group: gv.Group, Kind: fields.String(ref, "kind")}, fields.String(ref, "name")
	for _, t := range targets {
		if t.Kind.GroupKind() != kind {
			continue
		}
		obj := c.Cache.Get(t.Kind, types.NamespacedName{Namespace: hpa.GetNamespace(), Name: name})
		if obj == nil {
			return scale{}, apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: t.Resource + "/scale"}, name)
		}
		return scaleOf(obj, t)
	}
	return scale{}, fmt.Errorf("no matches for kind %q in group %q", kind.Kind, kind.Group)
}

func scaleOf(obj *unstructured.Unstructured, t Target) (scale, error) {
	s := scale{
		target: t, object: obj,
		spec: fields.Int64(obj.Object, 0, path(t.SpecReplicas, "spec", "replicas")...), status: fields.Int64(obj.Object, 0, path(t.StatusReplicas, "status", "replicas")...),
	}
	if !t.builtIn {
		s.selector = fields.String(obj.Object, path(t.Selector, "status", "selector")...)
		return s, nil
	}
	s.spec = fields.Int64(obj.Object, 1, "spec", "replicas")
	selector, err := selectorOf(obj)
	if err == nil {
		s.selector = selector.String()
	}
	return s, err
}

// path splits a path such as .spec.replicas.
func path(text string, byDefault ...string) []string {
	if text == "" {
		return byDefault
	}
	return strings.Split(strings.TrimPrefix(text, "."), ".")
}

func selectorOf(obj *unstructured.Unstructured) (labels.Selector, error) {
	m := fields.Map(obj.Object, "spec", "selector")
	if obj.GroupVersionKind().Kind == kinds.ReplicationController.Kind {
		m = map[string]any{"matchLabels": m}
	}
	return readSelector(m)
}

// readSelector reads a metav1.LabelSelector. A missing selector matches nothing.
func readSelector(m map[string]any) (labels.Selector, error) {
	if m == nil {
		return labels.Nothing(), nil
	}
	var s metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &s); err != nil {
		return nil, err
	}
	return metav1.LabelSelectorAsSelector(&s)
}

// setReplicas changes how many replicas the object has.
func (s scale) setReplicas(c control.Call, n int64) error {
	fields := path(s.target.SpecReplicas, "spec", "replicas")
	var change any = n
	for i := len(fields) - 1; i >= 0; i-- {
		change = map[string]any{fields[i]: change}
	}
	data, err := object.AppendJSON(nil, change)
	if err != nil {
		return err
	}
	o := metav1.PatchOptions{FieldManager: "kube-controller-manager"}
	_, err = c.Client.Patch(c.Context, s.target.Kind, control.NameOf(s.object), types.MergePatchType, data, o)
	return err
}
