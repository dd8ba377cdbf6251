package player_test

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/staged/application"
	"github.com/stagecraft-go/stagecraft/staged/manifestwork"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// feedback is an agent of Open Cluster Management reading live objects: conditions and values come from
// the same read.
func (h *history) feedback(m *member) {
	if m.offline {
		return
	}
	for _, work := range h.hub.list(manifestwork.Kind) {
		applied := m.applied[string(work.GetUID())]
		if work.GetNamespace() != m.name || applied == 0 || work.GetDeletionTimestamp() != nil {
			continue
		}
		var list []any
		configs, _, _ := unstructured.NestedSlice(work.Object, "spec", "manifestConfigs")
		for _, c := range configs {
			list = append(list, h.feedbackOf(m, work, c.(map[string]any), applied))
		}
		status, _ := work.Object["status"].(map[string]any)
		next := maps.Clone(status)
		if next == nil {
			next = map[string]any{}
		}
		next["resourceStatus"] = map[string]any{"manifests": list}
		h.hub.setStatus(work, next)
	}
}

func (h *history) feedbackOf(m *member, work *unstructured.Unstructured, config map[string]any, applied int64) map[string]any {
	name, _, _ := unstructured.NestedString(config, "resourceIdentifier", "name")
	condition := func(kind string, is bool, message string) map[string]any {
		return map[string]any{"type": kind, "status": strings.ToUpper(fmt.Sprint(is)[:1]) + fmt.Sprint(is)[1:], "message": message, "reason": "X", "observedGeneration": applied}
	}
	o := m.objects[name]
	out := map[string]any{"resourceMeta": map[string]any{"group": "apps", "resource": "deployments", "namespace": "shop", "name": name}}
	conditions := []any{condition("Available", o != nil, "")}
	if o != nil {
		rules, _ := config["conditionRules"].([]any)
		rule := rules[0].(map[string]any)
		asked := work.GetAnnotations()[v1alpha1.RevisionAnnotation]
		conditions = append(conditions, condition("RevisionShown", o.stamp == asked && o.observed >= o.generation, fmt.Sprint(rule["message"])))
		value := func(field string, n int64) map[string]any {
			return map[string]any{"name": field, "fieldValue": map[string]any{"type": "Integer", "integer": n}}
		}
		out["statusFeedback"] = map[string]any{"values": []any{value("ready", o.ready), value("bad", o.bad)}}
	}
	out["conditions"] = conditions
	return out
}

// operate is Argo CD applying a source that differs from what a cluster has.
func (h *history) operate(m *member) {
	app := h.hub.get(application.Kind, "argocd", "web-"+m.name)
	if m.offline || app == nil {
		return
	}
	source, _, _ := unstructured.NestedMap(app.Object, "spec", "source")
	v := versionOf(source)
	phase, _, _ := unstructured.NestedString(app.Object, "status", "operationState", "phase")
	status := maps.Clone(asMap(app.Object["status"]))
	switch {
	case v == (version{}):
	case phase != "Running" && m.has() != v:
		status["operationState"] = map[string]any{"phase": "Running"}
		h.hub.setStatus(app, status)
	case phase == "Running":
		if h.deliver(m, "web", v.web, "", "app"); v.api > 0 {
			h.deliver(m, "api", v.api, "", "app")
		}
		status["operationState"] = map[string]any{"phase": "Succeeded"}
		h.hub.setStatus(app, status)
	}
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	if m == nil {
		return map[string]any{}
	}
	return m
}

// compare is Argo CD comparing a cluster with the source: sync and health are of one moment.
func (h *history) compare(m *member) {
	app := h.hub.get(application.Kind, "argocd", "web-"+m.name)
	if m.offline || app == nil {
		return
	}
	source, _, _ := unstructured.NestedMap(app.Object, "spec", "source")
	v := versionOf(source)
	if (v == version{}) {
		return
	}
	is, good := "OutOfSync", "Progressing"
	if m.has() == v {
		is = "Synced"
	}
	for _, o := range m.objects {
		if o.bad > 0 && o.observed == o.generation {
			good = "Degraded"
		}
	}
	if m.isGood() {
		good = "Healthy"
	}
	status := maps.Clone(asMap(app.Object["status"]))
	status["sync"] = map[string]any{"status": is, "revision": source["targetRevision"], "comparedTo": map[string]any{"source": source}}
	status["health"] = map[string]any{"status": good}
	h.hub.setStatus(app, status)
}
