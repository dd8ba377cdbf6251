package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// ownedManifests are the objects that a user creates. Their controllers create all others.
const ownedManifests = `
{apiVersion: v1, kind: Service, metadata: {name: all, labels: {of: user}}, spec: {selector: {app: a}, ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: names}, spec: {clusterIP: None, selector: {app: a}, ports: [{name: http, port: 80}, {name: dns, port: 53, protocol: UDP}]}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {replicas: 1, selector: {matchLabels: {of: d}},
  template: {metadata: {labels: {app: a, of: d}}, spec: {containers: [{name: c, image: i}]}}}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: e}, spec: {selector: {matchLabels: {of: e}},
  template: {metadata: {labels: {app: a, of: e}}, spec: {containers: [{name: c, image: i, ports: [{containerPort: 80}]}]}}}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s}, spec: {serviceName: names, selector: {matchLabels: {of: s}},
  template: {metadata: {labels: {app: a, of: s}}, spec: {containers: [{name: c, image: i, env: [{name: mode, value: fast}]}]}}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: k}, spec: {completions: 2, parallelism: 2, completionMode: Indexed,
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {minAvailable: 1, selector: {matchLabels: {app: a}}}}
`

// ownedResources are the compared resources, and the number of objects when the controllers have
// finished.
var ownedResources = map[schema.GroupVersionResource]int{
	{Version: "v1", Resource: "pods"}:                                      6,
	{Version: "v1", Resource: "services"}:                                  2,
	{Version: "v1", Resource: "endpoints"}:                                 2,
	{Version: "v1", Resource: "configmaps"}:                                1,
	{Version: "v1", Resource: "serviceaccounts"}:                           1,
	{Group: "apps", Version: "v1", Resource: "deployments"}:                1,
	{Group: "apps", Version: "v1", Resource: "replicasets"}:                1,
	{Group: "apps", Version: "v1", Resource: "daemonsets"}:                 1,
	{Group: "apps", Version: "v1", Resource: "statefulsets"}:               1,
	{Group: "apps", Version: "v1", Resource: "controllerrevisions"}:        2,
	{Group: "batch", Version: "v1", Resource: "jobs"}:                      2,
	{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}:     1,
	{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}: 2,
}

// TestFieldsOfControllers compares the managedFields of kube-controller-manager with those of our
// own controllers behind the server in memory: of the objects that it creates, and of the statuses
// that it writes. It leaves out the lab's scheduler, which patches spec.nodeName and owns it; after
// a Binding this field has no owner. It leaves out trigger times: those of Kubernetes are in whole
// seconds, and vanish with a sync in the same second.
func TestFieldsOfControllers(t *testing.T) {
	const namespace = "fields-of-controllers"
	real := ownPlane(t)
	startControllers(t, real)
	playNodes(t, clusterOf(t, real), 1, presets.PodFast())
	lab := serveLab(t, labtest.Options{Nodes: 1, Start: time.Now(), OnlyStages: true, Stages: []stage.Source{presets.NodeFast(), presets.PodFast()}})
	config, err := clientcmd.BuildConfigFromFlags("", lab.kubeconfig)
	require.NoError(t, err)
	theirs := ownersOf(t, real.Config(), namespace)
	ours := ownersOf(t, config, namespace)
	for _, key := range slices.Sorted(maps.Keys(theirs)) {
		if ours[key] != theirs[key] {
			t.Errorf("%s\n  kube-controller-manager: %s\n  ours:                    %s", key, theirs[key], ours[key])
		}
		delete(ours, key)
	}
	require.Empty(t, ours)
}

// ownersOf creates the objects, waits until the controllers are done, and returns their managedFields by
// object.
func ownersOf(t *testing.T, config *rest.Config, namespace string) map[string]string {
	client := dynamic.NewForConfigOrDie(config)
	namespaces := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	own := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}}}
	_, err := namespaces.Create(t.Context(), own, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = namespaces.Delete(t.Context(), namespace, metav1.DeleteOptions{}) })
	for _, u := range decode(t, ownedManifests) {
		gvk := u.GroupVersionKind()
		at := gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s")
		_, err := client.Resource(at).Namespace(namespace).Create(t.Context(), u, metav1.CreateOptions{FieldManager: "user"})
		require.NoError(t, err)
	}
	var found map[string]string
	eventually(t, "the controllers are done", func() bool {
		before := found
		found = map[string]string{}
		for at, n := range ownedResources {
			list, err := client.Resource(at).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			if len(list.Items) != n {
				return false
			}
			for _, u := range list.Items {
				found[at.Resource+" "+nameOfOwned(&u)] = ownersText(t, &u)
			}
		}
		return maps.Equal(before, found) && strings.Contains(found["jobs k"], "f:completionTime") && strings.Contains(found["endpointslices all-"], "f:endpoints")
	})
	return found
}

// nameOfOwned is a name without its generated part.
func nameOfOwned(u *unstructured.Unstructured) string {
	owners := u.GetOwnerReferences()
	if len(owners) == 0 {
		return u.GetName()
	}
	labels := u.GetLabels()
	return strings.TrimSuffix(owners[0].Name, labels["pod-template-hash"]) + "-" + labels["batch.kubernetes.io/job-completion-index"]
}

var uidInKey = regexp.MustCompile(`k:\{\\"uid\\":\\"[^}]*\}`)

// ownersText lists the fields of an object that kube-controller-manager owns.
func ownersText(t *testing.T, u *unstructured.Unstructured) string {
	var lines []string
	for _, e := range u.GetManagedFields() {
		if e.Manager != "kube-controller-manager" {
			continue
		}
		var fields map[string]any
		require.NoError(t, json.Unmarshal(e.FieldsV1.Raw, &fields))
		unstructured.RemoveNestedField(fields, "f:metadata", "f:annotations", "f:endpoints.kubernetes.io/last-change-trigger-time")
		if of, _, _ := unstructured.NestedMap(fields, "f:metadata", "f:annotations"); len(of) == 1 { // itself
			unstructured.RemoveNestedField(fields, "f:metadata", "f:annotations")
		}
		text, err := json.Marshal(fields)
		require.NoError(t, err)
		lines = append(lines, fmt.Sprintf("%s %s %q %s", e.Operation, e.APIVersion, e.Subresource, uidInKey.ReplaceAll(text, []byte("k:{uid}"))))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n    ")
}
