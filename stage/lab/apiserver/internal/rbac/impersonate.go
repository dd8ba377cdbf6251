package rbac

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// A mode is a way to be allowed to impersonate. Since Kubernetes 1.36 a right can be bound to what the
// user does as another: with the verbs impersonate-on:MODE:VERB and impersonate:MODE.
type mode struct {
	name    string // "": the verb is impersonate, and the request is not asked for
	applies func(wanted *user.DefaultInfo, sender user.Info) bool
}

// modes are tried in this order. Without a mode that allows it, the answer is that of the first.
var modes = []mode{
	{"associated-node", func(wanted *user.DefaultInfo, sender user.Info) bool {
		name, isNode := NodeOf(wanted.Name)
		_, _, err := serviceaccount.SplitUsername(sender.GetName())
		return isNode && IsOnlyName(wanted) && err == nil && slices.Equal(sender.GetExtra()[serviceaccount.NodeNameKey], []string{name})
	}},
	{"arbitrary-node", func(wanted *user.DefaultInfo, _ user.Info) bool {
		_, isNode := NodeOf(wanted.Name)
		return isNode && IsOnlyName(wanted)
	}},
	{"serviceaccount", func(wanted *user.DefaultInfo, _ user.Info) bool {
		return isAccount(wanted.Name) && IsOnlyName(wanted)
	}},
	{"user-info", func(wanted *user.DefaultInfo, _ user.Info) bool {
		_, isNode := NodeOf(wanted.Name)
		return !isNode && !isAccount(wanted.Name)
	}},
	{"", func(*user.DefaultInfo, user.Info) bool { return true }},
}

// IsOnlyName reports whether nothing but the name of a user is given.
func IsOnlyName(u *user.DefaultInfo) bool {
	return u.UID == "" && len(u.Groups) == 0 && len(u.Extra) == 0
}

func isAccount(name string) bool {
	_, _, err := serviceaccount.SplitUsername(name)
	return err == nil
}

// NodeOf returns the Node of a user such as system:node:a.
func NodeOf(name string) (string, bool) {
	node, is := strings.CutPrefix(name, "system:node:")
	return node, is && len(validation.NameIsDNSSubdomain(node, false)) == 0
}

// Impersonate refuses that the user of a request acts as another one, unless it may. It reports whether only
// the old verb impersonate allows it, which gives a Node no group. kube-apiserver tries first what allowed the
// sender's last impersonation.
func (x *Index) Impersonate(ctx context.Context, a authorizer.AttributesRecord, wanted *user.DefaultInfo) (old bool, first error) {
	for _, m := range modes {
		if !m.applies(wanted, a.User) {
			continue
		}
		err := x.impersonateBy(ctx, m, a, wanted)
		if err == nil {
			return m.name == "", nil
		}
		if first == nil {
			first = err
		}
	}
	return false, first
}

func (x *Index) impersonateBy(ctx context.Context, m mode, a authorizer.AttributesRecord, wanted *user.DefaultInfo) error {
	if m.name != "" {
		a.Verb = "impersonate-on:" + m.name + ":" + a.Verb
		if err := x.Require(ctx, a); err != nil {
			return err
		}
		if err := refused(a.User, m, wanted); err != nil {
			return err
		}
	}
	for _, right := range rightsFor(m, wanted) {
		right.User = a.User
		if err := x.Require(ctx, right); err != nil {
			return err
		}
	}
	return nil
}

// refused is what only the old mode allows.
func refused(sender user.Info, m mode, wanted *user.DefaultInfo) error {
	groups := m.right("groups", "", authenticationv1.SchemeGroupVersion)
	groups.User = sender
	switch {
	case slices.Contains(wanted.Groups, ""):
		return Forbidden(groups, "impersonating the empty string group is not allowed")
	case slices.Contains(wanted.Groups, user.SystemPrivilegedGroup):
		groups.Name = user.SystemPrivilegedGroup
		return Forbidden(groups, "impersonating the system:masters group is not allowed")
	}
	return nil
}

// right is the right to impersonate one thing.
func (m mode) right(resource, name string, gv schema.GroupVersion) authorizer.AttributesRecord {
	verb := "impersonate"
	if m.name != "" {
		verb += ":" + m.name
	}
	return authorizer.AttributesRecord{Verb: verb, APIGroup: gv.Group, APIVersion: gv.Version, Resource: resource, Name: name, ResourceRequest: true}
}

// rightsFor returns the rights that a mode needs, in the order in which they are checked.
func rightsFor(m mode, wanted *user.DefaultInfo) []authorizer.AttributesRecord {
	gv := schema.GroupVersion{Version: "v1"}
	if m.name != "" {
		gv = authenticationv1.SchemeGroupVersion
	}
	name := m.right("users", wanted.Name, gv)
	if node, isNode := NodeOf(wanted.Name); isNode && m.name != "" {
		name.Resource, name.Name = "nodes", node
	}
	if m.name == "associated-node" {
		name.Name = "*"
	}
	if namespace, account, err := serviceaccount.SplitUsername(wanted.Name); err == nil {
		name.Resource, name.Namespace, name.Name = "serviceaccounts", namespace, account
	}
	rights := []authorizer.AttributesRecord{name}
	if wanted.UID != "" {
		rights = append(rights, m.right("uids", wanted.UID, authenticationv1.SchemeGroupVersion))
	}
	for _, group := range wanted.Groups {
		rights = append(rights, m.right("groups", group, gv))
	}
	for _, key := range slices.Sorted(maps.Keys(wanted.Extra)) {
		for _, value := range wanted.Extra[key] {
			right := m.right("userextras", value, authenticationv1.SchemeGroupVersion)
			right.Subresource = key
			rights = append(rights, right)
		}
	}
	return rights
}

// Require returns the error of kube-apiserver if a user has no right.
func (x *Index) Require(ctx context.Context, a authorizer.Attributes) error {
	decision, reason, err := x.Authorize(ctx, a)
	switch {
	case decision == authorizer.DecisionAllow:
		return nil
	case err != nil:
		return apierrors.NewInternalError(err)
	}
	return Forbidden(a, reason)
}

var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// Forbidden returns the error about a user that has no right.
func Forbidden(a authorizer.Attributes, reason string) error {
	name := ""
	if u := a.GetUser(); u != nil {
		name = u.GetName()
	}
	resource := a.GetResource()
	if a.GetSubresource() != "" {
		resource += "/" + a.GetSubresource()
	}
	text := fmt.Sprintf("User %q cannot %s ", name, a.GetVerb())
	switch {
	case !a.IsResourceRequest():
		text += fmt.Sprintf("path %q", a.GetPath())
	case a.GetNamespace() != "":
		text += fmt.Sprintf("resource %q in API group %q in the namespace %q", resource, a.GetAPIGroup(), a.GetNamespace())
	default:
		text += fmt.Sprintf("resource %q in API group %q at the cluster scope", resource, a.GetAPIGroup())
	}
	text = escaped.Replace(text)
	if reason != "" {
		text += ": " + reason
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: a.GetAPIGroup(), Resource: a.GetResource()}, a.GetName(), errors.New(text))
}
