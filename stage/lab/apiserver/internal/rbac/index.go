package rbac

import (
	"cmp"
	"context"
	"slices"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// The kinds that an Index reads.
const (
	roleKind               = "Role"
	clusterRoleKind        = "ClusterRole"
	roleBindingKind        = "RoleBinding"
	clusterRoleBindingKind = "ClusterRoleBinding"
)

func kindOf(name string) schema.GroupVersionKind { return rbacv1.SchemeGroupVersion.WithKind(name) }

// An Index knows the roles and bindings of a cluster, and learns when they change.
type Index struct {
	mu       sync.Mutex
	feeds    []*memory.Feed
	roles    map[types.NamespacedName][]rbacv1.PolicyRule // ClusterRoles have no namespace
	bindings map[string][]*binding                        // by namespace, in the order of their names; "": ClusterRoleBindings
}

// A binding is a RoleBinding or a ClusterRoleBinding.
type binding struct {
	types.NamespacedName
	subjects []rbacv1.Subject
	role     rbacv1.RoleRef
}

// NewIndex returns an index of a cluster.
func NewIndex(c *memory.Cluster) (*Index, error) {
	x := &Index{roles: map[types.NamespacedName][]rbacv1.PolicyRule{}, bindings: map[string][]*binding{}}
	for _, kind := range []string{roleKind, clusterRoleKind, roleBindingKind, clusterRoleBindingKind} {
		feed, err := c.Shared().Feed(kindOf(kind), "", metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		x.feeds = append(x.feeds, feed)
	}
	return x, nil
}

// refresh reads what has changed. The caller holds mu.
func (x *Index) refresh() {
	for _, feed := range x.feeds {
		for e, more := feed.Next(); more; e, more = feed.Next() {
			if u, ok := e.Object.(*unstructured.Unstructured); ok && e.Type != watch.Bookmark {
				x.observe(u, e.Type == watch.Deleted)
			}
		}
	}
}

func (x *Index) observe(u *unstructured.Unstructured, isGone bool) {
	key := types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
	switch u.GetKind() {
	case roleKind, clusterRoleKind:
		var role rbacv1.ClusterRole // both have their rules in the same field
		if isGone || runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &role) != nil {
			delete(x.roles, key)
			return
		}
		x.roles[key] = role.Rules
	default:
		var given rbacv1.ClusterRoleBinding // the same
		isGone = isGone || runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &given) != nil
		x.putBinding(&binding{key, given.Subjects, given.RoleRef}, isGone)
	}
}

// putBinding stores or removes a binding.
func (x *Index) putBinding(b *binding, isGone bool) {
	all := x.bindings[b.Namespace]
	i, found := slices.BinarySearchFunc(all, b.Name, func(have *binding, name string) int { return cmp.Compare(have.Name, name) })
	switch {
	case found && isGone:
		all = slices.Delete(all, i, i+1)
	case found:
		all[i] = b
	case !isGone:
		all = slices.Insert(all, i, b)
	}
	x.bindings[b.Namespace] = all
}

// granted calls visit with each rule that a user has in a namespace, "" for those of the whole cluster
// only, until visit returns false. The error is about bindings whose role is missing.
func (x *Index) granted(u user.Info, namespace string, visit func(source, *rbacv1.PolicyRule) bool) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.refresh()
	var faults []error
	scopes := []string{""}
	if namespace != "" {
		scopes = append(scopes, namespace)
	}
	for _, scope := range scopes {
		for _, b := range x.bindings[scope] {
			i := slices.IndexFunc(b.subjects, func(s rbacv1.Subject) bool { return is(u, s, b.Namespace) })
			if i < 0 {
				continue
			}
			rules, found := x.roles[referred(b.role, b.Namespace)]
			if !found {
				faults = append(faults, apierrors.NewNotFound(schema.GroupResource{Group: rbacv1.GroupName, Resource: singular[b.role.Kind]}, b.role.Name))
				continue
			}
			for k := range rules {
				if !visit(source{b, &b.subjects[i]}, &rules[k]) {
					return utilerrors.NewAggregate(faults)
				}
			}
		}
	}
	return utilerrors.NewAggregate(faults)
}

// singular is how the errors of kube-apiserver's authorizer name a missing role.
var singular = map[string]string{roleKind: "role", clusterRoleKind: "clusterrole"}

// referred returns the key of the role of a binding.
func referred(role rbacv1.RoleRef, namespace string) types.NamespacedName {
	if role.Kind == clusterRoleKind {
		namespace = ""
	}
	return types.NamespacedName{Namespace: namespace, Name: role.Name}
}

// RulesOf returns the rules of a role that a binding in a namespace refers to, and whether it exists.
func (x *Index) RulesOf(role rbacv1.RoleRef, namespace string) (rules []rbacv1.PolicyRule, found bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.refresh()
	rules, found = x.roles[referred(role, namespace)]
	return rules, found
}

// RulesFor returns all rules that a user has in a namespace. With an error there can be more.
func (x *Index) RulesFor(_ context.Context, u user.Info, namespace string) (all []rbacv1.PolicyRule, err error) {
	err = x.granted(u, namespace, func(_ source, r *rbacv1.PolicyRule) bool {
		all = append(all, *r)
		return true
	})
	return all, err
}
