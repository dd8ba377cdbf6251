package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	smd "sigs.k8s.io/structured-merge-diff/v6/typed"
)

// checkLive refuses an apply to an object to which a conversion webhook has given values of the wrong
// types. The error is another one if nobody owns a field yet, because kube-apiserver first makes an owner
// of what is there.
func (c *call) checkLive() error {
	live, err := c.cluster.Get(c.ctx, c.of.kind, types.NamespacedName{Namespace: c.namespace, Name: c.name})
	if err != nil {
		return nil // the cluster answers
	}
	if len(live.GetManagedFields()) == 0 {
		return c.checkTypes(live.Object, "failed to create manager for existing fields: failed to convert new object (%s/%s; %s) to smd typed: %v")
	}
	return c.checkTypes(live.Object, notTyped("live"))
}

// notTyped is the message about an object with values of the wrong types.
func notTyped(which string) string {
	return "failed to create typed " + which + " object (%s/%s; %s): %v"
}

// conversion returns spec.conversion.strategy of the definition; "" for a built-in kind.
func (r *resource) conversion() string {
	if r.definition == nil {
		return ""
	}
	strategy, _, _ := unstructured.NestedString(r.definition.Object, "spec", "conversion", "strategy")
	return strategy
}

// checkTypes refuses a configuration, or the live object, if its fields are not those of the kind, or
// not of their types, whatever fieldValidation is. The message has the namespace, the name, the kind and
// the faults.
func (c *call) checkTypes(config map[string]any, message string) error {
	converter, err := c.of.types()
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: config}
	if u.GroupVersionKind() != c.of.kind {
		return nil // the cluster refuses it
	}
	if _, err = converter.ObjectToTyped(u); err == nil {
		return nil
	}
	var faults smd.ValidationErrors
	if errors.As(err, &faults) { // they are found in no order
		slices.SortFunc(faults, func(a, b smd.ValidationError) int { return strings.Compare(a.Path, b.Path) })
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
		Message: fmt.Sprintf(message, u.GetNamespace(), u.GetName(), c.of.kind, err)}}
}

// newTypes reads the types of the fields of a kind from its schema.
func (r *resource) newTypes() (managedfields.TypeConverter, error) {
	if r.schema != nil && r.definition == nil {
		return managedfields.NewDeducedTypeConverter(), nil
	}
	schemas := map[string]any{}
	if r.schema != nil {
		r.addSchemas(schemas)
		addReferred(schemas, schemas[r.schemaName()])
	} else {
		schemas[r.schemaName()] = recordedSchemas()[r.schemaName()]
		addReferred(schemas, schemas[r.schemaName()])
	}
	data, err := json.Marshal(schemas)
	if err != nil {
		return nil, err
	}
	var specs map[string]*spec.Schema
	if err := json.Unmarshal(data, &specs); err != nil {
		return nil, err
	}
	return managedfields.NewTypeConverter(specs, false)
}

// objectsOfSubresources are the kinds that only subresources have.
var objectsOfSubresources = func() map[schema.GroupVersionKind]*resource {
	all := map[schema.GroupVersionKind]*resource{}
	for _, kind := range []schema.GroupVersionKind{scales, bindingKind, evictions, tokenRequests} {
		r := &resource{kind: kind}
		r.types, all[kind] = sync.OnceValues(r.newTypes), r
	}
	return all
}()

// typesOf returns the types of the fields of a kind; nil if the server does not know it.
func (s *Server) typesOf(kind schema.GroupVersionKind) managedfields.TypeConverter {
	if of := objectsOfSubresources[kind]; of != nil {
		types, _ := of.types() // they are recorded
		return types
	}
	for _, g := range s.kinds.list() {
		i := slices.IndexFunc(g.resources, func(r *resource) bool { return r.kind == kind })
		if g.GroupVersion != kind.GroupVersion() || i < 0 {
			continue
		}
		if types, err := g.resources[i].types(); err == nil {
			return types
		}
	}
	return nil
}
