package apiserver

import (
	"net/http"
	"net/url"
	"strings"
)

// modernWatch returns the request for a watch in the form of today: /api/v1/watch/pods is
// /api/v1/pods?watch=true, and a name becomes a field selector. kube-apiserver also serves the old
// form, which clients in other languages use, such as kubeclient of Ruby. Other requests are
// returned as they are.
func modernWatch(r *http.Request) *http.Request {
	path := strings.TrimPrefix(r.URL.Path, "/")
	parts := strings.SplitN(path, "/", 5)
	at := 2 // of the word watch, after api/v1
	if parts[0] == "apis" {
		at = 3
	}
	if r.Method != http.MethodGet || parts[0] != "api" && parts[0] != "apis" || len(parts) <= at+1 || parts[at] != "watch" {
		return r
	}
	prefix := strings.Join(parts[:at], "/")
	rest := strings.TrimPrefix(path, prefix+"/watch/")
	query := r.URL.Query()
	query.Set("watch", "true")
	if t, isTarget := route(prefix + "/" + rest).(target); isTarget && t.name != "" && t.subresource == "" {
		rest = strings.TrimSuffix(rest, "/"+t.name)
		query.Set("fieldSelector", "metadata.name="+t.name)
	}
	modern := new(http.Request)
	*modern = *r
	modern.URL = &url.URL{Path: "/" + prefix + "/" + rest, RawQuery: query.Encode()}
	return modern
}
