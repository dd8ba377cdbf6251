package ports

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/staged/application"
	"github.com/stagecraft-go/stagecraft/staged/manifestwork"
	"github.com/stagecraft-go/stagecraft/staged/player"
)

var deploymentKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}

// TestManifestWorks rolls a bad revision out and back over Open Cluster Management.
func TestManifestWorks(t *testing.T) {
	definition := manifestWorks.read(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, definition)
		f.options.Workload = []player.WorkloadKind{{GroupVersionKind: deploymentKind}}
		f.options.Transport = manifestwork.New(f.hub, manifestwork.Options{Clusters: f.options.Clusters, Feedback: map[string]string{"availableReplicas": ".availableReplicas"},
			Collectors: f.collector("returned.status.availableReplicas")})
		f.agents = func() {
			for _, work := range f.list(manifestwork.Kind) {
				f.manifestWorkAgent(work)
			}
		}
		first := true
		f.rollBack(func(version string) {
			if first {
				f.create(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, labels: {app: web}}, spec: {selector: {matchLabels: {app: web}},
					template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: "1"}]}}}}`)
			} else {
				f.patch(deploymentKind, "shop", "web", fmt.Sprintf(`{spec: {template: {spec: {containers: [{name: c, image: %q}]}}}}`, version))
			}
			first = false
		})
		for _, work := range f.list(manifestwork.Kind) {
			policy, _, _ := unstructured.NestedString(work.Object, "spec", "deleteOption", "propagationPolicy")
			require.Equal(t, "Orphan", policy, "a deletion of the ManifestWork leaves the workload")
		}
	})
}

// manifestWorkAgent is what the agent of a cluster does with its ManifestWork.
func (f *fleet) manifestWorkAgent(work unstructured.Unstructured) {
	cluster := work.GetNamespace()
	manifests, _, _ := unstructured.NestedSlice(work.Object, "spec", "workload", "manifests")
	configs, _, _ := unstructured.NestedSlice(work.Object, "spec", "manifestConfigs")
	require.Len(f.t, manifests, 1)
	require.Len(f.t, configs, 1)
	config := configs[0].(map[string]any)
	strategy, _, _ := unstructured.NestedString(config, "updateStrategy", "type")
	available, condition := "False", func(kind, status, message string) string {
		return fmt.Sprintf(`{type: %s, status: %q, message: %q, reason: X, observedGeneration: %d, lastTransitionTime: "2026-01-01T00:00:00Z"}`, kind, status, message, work.GetGeneration())
	}
	conditions := condition("Applied", "True", "")
	if strategy != "ReadOnly" {
		containers, _, _ := unstructured.NestedSlice(manifests[0].(map[string]any), "spec", "template", "spec", "containers")
		f.have[cluster] = containers[0].(map[string]any)["image"].(string)
		rules, _, _ := unstructured.NestedSlice(config, "conditionRules")
		require.Len(f.t, rules, 1, "the schema keeps the rule that says of which revision a feedback is")
		rule := rules[0].(map[string]any)
		conditions += ", " + condition(rule["condition"].(string), "True", rule["message"].(string))
	}
	if f.have[cluster] != "" {
		available = "True"
	}
	paths, _, _ := unstructured.NestedSlice(config, "feedbackRules")
	require.Len(f.t, paths, 1)
	status := fmt.Sprintf(`{conditions: [%s], resourceStatus: {manifests: [{resourceMeta: {ordinal: 0, group: apps, version: v1, kind: Deployment, resource: deployments, namespace: shop, name: web},
		conditions: [%s, %s], statusFeedback: {values: [{name: availableReplicas, fieldValue: {type: Integer, integer: %d}}]}}]}}`,
		condition("Applied", "True", ""), conditions, condition("Available", available, ""), f.ready(cluster))
	f.patch(manifestwork.Kind, cluster, work.GetName(), "{status: "+status+"}", "status")
}

// TestApplications rolls a bad revision out and back over Argo CD.
func TestApplications(t *testing.T) {
	definition := applications.read(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, definition)
		f.options.Transport = application.New(f.hub, application.Options{Clusters: f.options.Clusters, Name: application.ByCluster("web"), Namespace: "argocd",
			Collectors: f.collector("returned.status.health == 'Healthy' ? 1 : 0")})
		for name := range f.clusters {
			f.create(fmt.Sprintf(`{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {namespace: argocd, name: web-%s}, spec: {project: default,
				destination: {name: %s, namespace: shop}, source: {repoURL: "https://example.org/web.git", path: web}, syncPolicy: {automated: {}}}}`, name, name))
		}
		f.agents = func() {
			for _, app := range f.list(application.Kind) {
				f.argoCD(app)
			}
		}
		f.rollBack(func(version string) {
			source := fmt.Sprintf(`{"repoURL": "https://example.org/web.git", "path": "web", "targetRevision": "%040s", "kustomize": {"namePrefix": "v%s-"}}`, version, version)
			raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{application.SourceAnnotation: source}}})
			require.NoError(t, err)
			f.patch(stagedKind, "", "s", string(raw))
		})
		for _, app := range f.list(application.Kind) {
			destination, _, _ := unstructured.NestedString(app.Object, "spec", "destination", "name")
			require.Equal(t, strings.TrimPrefix(app.GetName(), "web-"), destination, "the rest of the Application is its owner's")
		}
	})
}

// argoCD is what the application controller does with an Application.
func (f *fleet) argoCD(app unstructured.Unstructured) {
	source, _, _ := unstructured.NestedMap(app.Object, "spec", "source")
	destination, _, _ := unstructured.NestedMap(app.Object, "spec", "destination")
	target, _ := source["targetRevision"].(string)
	if target == "" {
		return
	}
	cluster := strings.TrimPrefix(app.GetName(), "web-")
	f.have[cluster] = strings.TrimLeft(target, "0")
	health := map[int64]string{1: "Healthy", 0: "Degraded"}[f.ready(cluster)]
	sync := map[string]any{"status": "Synced", "revision": target, "comparedTo": map[string]any{"source": source, "destination": destination}}
	before, _, _ := unstructured.NestedMap(app.Object, "status", "sync")
	was, _, _ := unstructured.NestedString(app.Object, "status", "health", "status")
	if fmt.Sprint(before) == fmt.Sprint(sync) && was == health {
		return
	}
	raw, err := json.Marshal(map[string]any{"status": map[string]any{"sync": sync, "health": map[string]any{"status": health}}})
	require.NoError(f.t, err)
	f.patch(application.Kind, app.GetNamespace(), app.GetName(), string(raw))
}
