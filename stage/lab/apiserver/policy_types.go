package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

var validatingPolicies = schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicy"}

// policyStatus is the name of the controller that writes the status of policies.
const policyStatus = "validatingadmissionpolicy-status"

// checkTypes does what that controller does: it writes down which expressions of a policy do not fit
// the types of the objects that the policy is for.
func (s *Server) checkTypes(ctx context.Context, name string) error {
	stored, err := s.cluster.Get(ctx, validatingPolicies, types.NamespacedName{Name: name})
	if err != nil {
		return err
	}
	policy := &admissionregistration.ValidatingAdmissionPolicy{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, policy); err != nil {
		return err
	}
	if policy.Generation <= policy.Status.ObservedGeneration {
		return nil
	}
	checker := validating.TypeChecker{SchemaResolver: schemasOf{s}, RestMapper: kindsFor{kinds: &s.kinds}}
	warnings := checker.Check(policy)
	typeChecking := map[string]any{}
	if len(warnings) > 0 {
		typeChecking["expressionWarnings"] = warnings
	}
	data, err := json.Marshal(map[string]any{
		"apiVersion": stored.GetAPIVersion(), "kind": stored.GetKind(), "metadata": map[string]any{"name": name},
		"status": map[string]any{"observedGeneration": policy.Generation, "typeChecking": typeChecking},
	})
	if err != nil {
		return err
	}
	force := true
	_, err = s.cluster.Patch(ctx, validatingPolicies, types.NamespacedName{Name: name}, types.ApplyPatchType, data, metav1.PatchOptions{FieldManager: policyStatus, Force: &force}, "status")
	return err
}

// schemasOf finds the schemas that a server publishes.
type schemasOf struct{ server *Server }

var _ resolver.SchemaResolver = schemasOf{}

// ResolveSchema returns the schema of a kind with everything that it refers to.
func (r schemasOf) ResolveSchema(kind schema.GroupVersionKind) (*spec.Schema, error) {
	for _, g := range r.server.kinds.list() {
		if g.GroupVersion != kind.GroupVersion() {
			continue
		}
		components, _ := g.spec()["components"].(map[string]any)
		all, _ := components["schemas"].(map[string]any)
		for name, s := range all {
			if fields, isSchema := s.(map[string]any); isSchema && slices.Contains(kindsOf(fields), kind) {
				return resolver.PopulateRefs(func(ref string) (*spec.Schema, bool) { return readSchema(all, ref) }, name)
			}
		}
	}
	return nil, fmt.Errorf("%s: %w", kind, resolver.ErrSchemaNotFound)
}

// readSchema gives a Go type a schema that is fields.
func readSchema(all map[string]any, ref string) (*spec.Schema, bool) {
	found, has := all[strings.TrimPrefix(ref, schemaPrefix)]
	if !has {
		return nil, false
	}
	data, err := json.Marshal(found)
	if err != nil {
		return nil, false
	}
	s := &spec.Schema{}
	return s, json.Unmarshal(data, s) == nil
}

// kindsFor maps resources to kinds. The checker of types asks for nothing else.
type kindsFor struct {
	meta.RESTMapper
	kinds *kindIndex
}

// KindsFor returns the kind of a resource.
func (m kindsFor) KindsFor(r schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	of := m.kinds.lookup(r)
	if of == nil || of.virtual {
		return nil, &meta.NoResourceMatchError{PartialResource: r}
	}
	return []schema.GroupVersionKind{of.kind}, nil
}
