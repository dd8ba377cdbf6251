package rbac

import (
	"errors"
	"maps"

	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Hooks refuse roles and bindings by which a user would grant what it does not have, unless it may
// escalate or bind. Writes without a user, such as those of controllers, are not checked.
func (x *Index) Hooks() memory.Hooks {
	return memory.Hooks{Name: "rbac", Validate: x.validate}
}

func (x *Index) validate(v *memory.Review) error {
	u, known := request.UserFrom(v.Context())
	switch {
	case v.New == nil || !known || isPrivileged(u):
		return nil
	case v.Subresource == "status" && v.Kind.Group == certificatesv1.GroupName:
		return x.checkSigner(v, u)
	case v.Subresource != "":
		return nil
	}
	if v.Old == nil && v.Verb == "apply" {
		if err := x.checkCreation(v, u); err != nil {
			return err
		}
	}
	if v.Kind.Group != rbacv1.GroupName || v.Old != nil && onlyCollects(v.Old, v.New) {
		return nil
	}
	switch v.Kind.Kind {
	case roleKind, clusterRoleKind:
		return x.checkRole(v, u)
	case roleBindingKind, clusterRoleBindingKind:
		return x.checkBinding(v, u)
	}
	return nil
}

// checkCreation refuses an apply that creates, of a user that may patch and not create.
func (x *Index) checkCreation(v *memory.Review, u user.Info) error {
	return x.Require(v.Context(), authorizer.AttributesRecord{User: u, Verb: "create", APIGroup: v.Resource.Group, APIVersion: v.Kind.Version,
		Resource: v.Resource.Resource, Namespace: v.Name.Namespace, Name: v.Name.Name, ResourceRequest: true})
}

// onlyCollects reports whether a write changes only what garbage collection needs.
func onlyCollects(before, next *unstructured.Unstructured) bool {
	strip := func(u *unstructured.Unstructured) map[string]any {
		fields := maps.Clone(u.Object)
		metadata, _ := fields["metadata"].(map[string]any)
		metadata = maps.Clone(metadata)
		for _, name := range []string{"ownerReferences", "finalizers", "managedFields", "resourceVersion", "generation"} {
			delete(metadata, name)
		}
		fields["metadata"] = metadata
		return fields
	}
	return equality.Semantic.DeepEqual(strip(before), strip(next))
}

var everything = []rbacv1.PolicyRule{
	{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
	{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
}

func (x *Index) checkRole(v *memory.Review, u user.Info) error {
	may := authorizer.AttributesRecord{User: u, Verb: "escalate", APIGroup: rbacv1.GroupName, APIVersion: "*",
		Resource: v.Resource.Resource, Namespace: v.Name.Namespace, ResourceRequest: true}
	if v.Verb != "create" {
		may.Name = v.Name.Name // the path of a creation has no name
	}
	if decision, _, _ := x.Authorize(v.Context(), may); decision == authorizer.DecisionAllow {
		return nil
	}
	var role rbacv1.ClusterRole
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(v.New.Object, &role); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if err := x.checkGrant(u, v.Name.Namespace, role.Rules); err != nil {
		return apierrors.NewForbidden(v.Resource, v.Name.Name, err)
	}
	if !aggregates(v.New) && (v.Old == nil || !aggregates(v.Old)) || x.checkGrant(u, "", everything) == nil {
		return nil
	}
	return apierrors.NewForbidden(v.Resource, v.Name.Name, errors.New("must have cluster-admin privileges to use the aggregationRule"))
}

// aggregates reports whether a role has its rules from others.
func aggregates(role *unstructured.Unstructured) bool {
	selectors, _, _ := unstructured.NestedSlice(role.Object, "aggregationRule", "clusterRoleSelectors")
	return len(selectors) > 0
}

func (x *Index) checkBinding(v *memory.Review, u user.Info) error {
	var given rbacv1.ClusterRoleBinding
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(v.New.Object, &given); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	role := given.RoleRef
	if resource := singular[role.Kind]; resource != "" {
		decision, _, _ := x.Authorize(v.Context(), authorizer.AttributesRecord{User: u, Verb: "bind", APIGroup: role.APIGroup, APIVersion: "*",
			Resource: resource + "s", Name: role.Name, Namespace: v.Name.Namespace, ResourceRequest: true})
		if decision == authorizer.DecisionAllow {
			return nil
		}
	}
	rules, found := x.RulesOf(role, v.Name.Namespace)
	if !found {
		return apierrors.NewNotFound(v.Resource, role.Name) // the binding's resource, as there
	}
	if err := x.checkGrant(u, v.Name.Namespace, rules); err != nil {
		return apierrors.NewForbidden(v.Resource, v.Name.Name, err)
	}
	return nil
}
