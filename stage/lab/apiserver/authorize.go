package apiserver

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/rbac"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// paths reads paths of requests as kube-apiserver does.
var paths = &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// authorizeBy has the roles of a cluster decide about requests.
func (s *Server) authorizeBy(c *memory.Cluster, isOn bool) (err error) {
	if !isOn {
		return nil
	}
	if s.roles, err = rbac.NewIndex(c); err == nil {
		c.Extend(s.roles.Hooks())
	}
	return err
}

// authorize refuses a request that its user may not send. With Options.RBAC off everything is allowed.
func (s *Server) authorize(r *http.Request) error {
	if s.roles == nil {
		return nil
	}
	a, err := attributesOf(r)
	if err != nil {
		return badRequest("%v", err)
	}
	if wanted := impersonated(r); wanted != nil {
		a.User = senderOf(r)
		old, err := s.roles.Impersonate(r.Context(), a, wanted)
		if err != nil {
			return err
		}
		if b, ok := r.Context().Value(budgetKey{}).(*budget); ok {
			b.oldMode = old
		}
	}
	as, err := requesterOf(r)
	if err != nil {
		return err
	}
	a.User = as
	if err := s.roles.Require(r.Context(), a); err != nil || !isConnection(a) {
		return err
	}
	return s.requireConnect(r.Context(), a)
}

// requireConnect refuses a connection of a user that may not create it: a WebSocket begins with a GET, which must
// not be enough. As kube-apiserver's, the error has only the authorizer's reason, which RBAC leaves empty.
func (s *Server) requireConnect(ctx context.Context, a authorizer.AttributesRecord) error {
	a.Verb = "create"
	decision, reason, err := s.roles.Authorize(ctx, a)
	switch {
	case decision == authorizer.DecisionAllow:
		return nil
	case err != nil:
		return apierrors.NewInternalError(err)
	}
	return apierrors.NewForbidden(schema.GroupResource{Resource: a.Resource}, a.Name, errors.New(reason))
}

// isConnection reports whether a request connects a client with a container or a port of a Pod.
func isConnection(a authorizer.AttributesRecord) bool {
	return a.APIGroup == "" && a.Resource == "pods" && slices.Contains([]string{"exec", "attach", "portforward"}, a.Subresource)
}

// attributesOf describes a request for the authorizer, without its user.
func attributesOf(r *http.Request) (a authorizer.AttributesRecord, err error) {
	i, err := paths.NewRequestInfo(r)
	if err != nil {
		return a, err
	}
	return authorizer.AttributesRecord{Verb: i.Verb, Path: i.Path, ResourceRequest: i.IsResourceRequest, APIGroup: i.APIGroup, APIVersion: i.APIVersion,
		Resource: i.Resource, Subresource: i.Subresource, Namespace: i.Namespace, Name: i.Name}, nil
}

const extraHeader = "Impersonate-Extra-"

// senderOf returns who sends a request, before impersonation.
func senderOf(r *http.Request) *user.DefaultInfo {
	if b, ok := r.Context().Value(budgetKey{}).(*budget); ok {
		return b.user
	}
	return admin
}

// byOldMode reports whether only the verb impersonate allows a request to act as another user.
func byOldMode(r *http.Request) bool {
	b, ok := r.Context().Value(budgetKey{}).(*budget)
	return ok && b.oldMode
}

// impersonated returns the user that the headers of a request name; nil without one.
func impersonated(r *http.Request) *user.DefaultInfo {
	name := r.Header.Get("Impersonate-User")
	if name == "" {
		return nil
	}
	return &user.DefaultInfo{Name: name, UID: r.Header.Get("Impersonate-Uid"), Groups: r.Header.Values("Impersonate-Group"), Extra: extraOf(r)}
}

// requesterOf returns the user as whom a request acts: the one who sends it, or whom it impersonates.
// The error is that a request names groups without a user.
func requesterOf(r *http.Request) (*user.DefaultInfo, error) {
	as := impersonated(r)
	if as == nil {
		nobody := &user.DefaultInfo{UID: r.Header.Get("Impersonate-Uid"), Groups: r.Header.Values("Impersonate-Group"), Extra: extraOf(r)}
		if nobody.UID != "" || len(nobody.Groups) > 0 || len(nobody.Extra) > 0 {
			return nil, badRequest("requested %#v without impersonating a user name", nobody)
		}
		return senderOf(r), nil
	}
	if namespace, _, err := serviceaccount.SplitUsername(as.Name); err == nil && len(as.Groups) == 0 {
		as.Groups = serviceaccount.MakeGroupNames(namespace)
	}
	if _, isNode := rbac.NodeOf(as.Name); isNode && rbac.IsOnlyName(as) && !byOldMode(r) {
		as.Groups = []string{user.NodesGroup}
	}
	switch {
	case as.Name == user.Anonymous:
		as.Groups = withGroup(as.Groups, user.AllUnauthenticated)
	case !slices.Contains(as.Groups, user.AllUnauthenticated):
		as.Groups = withGroup(as.Groups, user.AllAuthenticated)
	}
	return as, nil
}

// withGroup returns groups with one that they may have already.
func withGroup(groups []string, group string) []string {
	if slices.Contains(groups, group) {
		return groups
	}
	return append(groups[:len(groups):len(groups)], group)
}

// extraOf returns the fields of a user that have no name in Kubernetes.
func extraOf(r *http.Request) map[string][]string {
	var extra map[string][]string
	for name, values := range r.Header {
		key, is := strings.CutPrefix(name, extraHeader)
		if !is {
			continue
		}
		if extra == nil {
			extra = map[string][]string{}
		}
		if unescaped, err := url.PathUnescape(key); err == nil {
			key = unescaped
		}
		extra[strings.ToLower(key)] = values
	}
	return extra
}
