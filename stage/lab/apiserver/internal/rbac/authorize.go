package rbac

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

var _ authorizer.AuthorizerFunc = (*Index)(nil).Authorize

// Authorize decides about a request. Members of system:masters may do everything, and everybody may
// check the health of the server.
func (x *Index) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if isPrivileged(a.GetUser()) || !a.IsResourceRequest() && isHealth(a.GetPath()) {
		return authorizer.DecisionAllow, "", nil
	}
	reason := ""
	err := x.granted(a.GetUser(), a.GetNamespace(), func(s source, r *rbacv1.PolicyRule) bool {
		if !allows(r, a) {
			return true
		}
		reason = "RBAC: allowed by " + s.String()
		return false
	})
	switch {
	case reason != "":
		return authorizer.DecisionAllow, reason, nil
	case err != nil:
		return authorizer.DecisionNoOpinion, fmt.Sprintf("RBAC: %v", err), nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// isPrivileged reports whether a user may do everything.
func isPrivileged(u user.Info) bool {
	return u != nil && slices.Contains(u.GetGroups(), user.SystemPrivilegedGroup)
}

// isHealth reports whether a path is one that --authorization-always-allow-paths has by default.
func isHealth(path string) bool {
	return path == "/healthz" || path == "/livez" || path == "/readyz"
}

// is reports whether a user is a subject of a binding in a namespace.
func is(u user.Info, s rbacv1.Subject, namespace string) bool {
	switch s.Kind {
	case rbacv1.UserKind:
		return u.GetName() == s.Name
	case rbacv1.GroupKind:
		return slices.Contains(u.GetGroups(), s.Name)
	case rbacv1.ServiceAccountKind:
		if s.Namespace != "" {
			namespace = s.Namespace
		}
		return namespace != "" && serviceaccount.MatchesUsername(namespace, s.Name, u.GetName())
	}
	return false
}

// allows reports whether a rule allows a request.
func allows(r *rbacv1.PolicyRule, a authorizer.Attributes) bool {
	if !hasOrAll(r.Verbs, a.GetVerb(), rbacv1.VerbAll) {
		return false
	}
	if !a.IsResourceRequest() {
		return slices.ContainsFunc(r.NonResourceURLs, func(url string) bool { return coversPath(url, a.GetPath()) })
	}
	return hasOrAll(r.APIGroups, a.GetAPIGroup(), rbacv1.APIGroupAll) &&
		slices.ContainsFunc(r.Resources, func(resource string) bool { return isResource(resource, a.GetResource(), a.GetSubresource()) }) &&
		(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, a.GetName()))
}

func hasOrAll(list []string, one, all string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return s == one || s == all })
}

// isResource reports whether a resource of a rule, such as pods, pods/log or */scale, is one.
func isResource(rule, resource, subresource string) bool {
	if rule == rbacv1.ResourceAll {
		return true
	}
	if subresource == "" {
		return rule == resource
	}
	before, after, _ := strings.Cut(rule, "/")
	return after == subresource && (before == "*" || before == resource)
}

// coversPath reports whether a path of a rule, such as /metrics or /apis/*, covers another.
func coversPath(rule, path string) bool {
	return rule == rbacv1.NonResourceAll || rule == path || strings.HasSuffix(rule, "*") && strings.HasPrefix(path, strings.TrimRight(rule, "*"))
}

// A source says from which binding a user has a rule.
type source struct {
	*binding
	subject *rbacv1.Subject
}

func (s source) String() string {
	kind, name, subject := clusterRoleBindingKind, s.Name, s.subject.Name
	if s.Namespace != "" {
		kind, name = roleBindingKind, s.Name+"/"+s.Namespace
	}
	if s.subject.Kind == rbacv1.ServiceAccountKind {
		namespace := s.subject.Namespace
		if namespace == "" {
			namespace = s.Namespace
		}
		subject += "/" + namespace
	}
	return fmt.Sprintf("%s %q of %s %q to %s %q", kind, name, s.role.Kind, s.role.Name, s.subject.Kind, subject)
}
