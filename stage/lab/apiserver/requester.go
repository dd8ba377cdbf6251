package apiserver

import (
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

const extraHeader = "Impersonate-Extra-"

// requesterOf returns who sends a request: the user of the cluster, or whom it impersonates, which
// everybody may. The error is that a request wants more of nobody.
func requesterOf(r *http.Request) (*user.DefaultInfo, error) {
	name := r.Header.Get("Impersonate-User")
	as := &user.DefaultInfo{Name: name, UID: r.Header.Get("Impersonate-Uid"), Groups: r.Header.Values("Impersonate-Group"), Extra: extraOf(r)}
	if name == "" {
		if as.UID != "" || len(as.Groups) > 0 || len(as.Extra) > 0 {
			return nil, badRequest("requested %#v without impersonating a user name", as)
		}
		return &user.DefaultInfo{Name: "kubernetes-admin", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}, nil
	}
	if namespace, _, err := serviceaccount.SplitUsername(name); err == nil && len(as.Groups) == 0 {
		as.Groups = serviceaccount.MakeGroupNames(namespace)
	}
	if name == user.Anonymous {
		as.Groups = append(as.Groups, user.AllUnauthenticated)
	} else {
		as.Groups = append(as.Groups, user.AllAuthenticated)
	}
	return as, nil
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
