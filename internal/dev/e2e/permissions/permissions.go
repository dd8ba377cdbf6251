// Package permissions compares what programs ask of an API server with what roles grant.
package permissions

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Granted returns what the rules of a role grant, each as "verb group/resource".
func Granted(role *unstructured.Unstructured) map[string]bool {
	granted := map[string]bool{}
	for _, rule := range role.Object["rules"].([]any) {
		rule := rule.(map[string]any)
		for _, group := range rule["apiGroups"].([]any) {
			for _, resource := range rule["resources"].([]any) {
				for _, verb := range rule["verbs"].([]any) {
					granted[fmt.Sprint(verb, " ", group, "/", resource)] = true
				}
			}
		}
	}
	return granted
}

// Of returns the permission that a request needs, as "verb group/resource".
func Of(r *http.Request) string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	group := ""
	if parts[0] == "apis" && len(parts) > 2 {
		group, parts = parts[1], parts[3:]
	} else {
		parts = parts[min(2, len(parts)):]
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	if len(parts) == 0 {
		return "discovery"
	}
	resource := parts[0]
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	return verbOf(r, len(parts) == 1) + " " + group + "/" + resource
}

func verbOf(r *http.Request, all bool) string {
	switch {
	case r.Method != http.MethodGet:
		return map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}[r.Method]
	case r.URL.Query().Get("watch") != "":
		return "watch"
	case all:
		return "list"
	}
	return "get"
}
