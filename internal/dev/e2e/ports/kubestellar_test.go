package ports

import (
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/staged/control"
	fleetpkg "github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/manifestwork"
)

var bindingPolicyKind = control.GroupVersion.WithKind("BindingPolicy")

func nameOf(name string) types.NamespacedName { return types.NamespacedName{Name: name} }

// overKubeStellar defines KubeStellar's kinds, and has its controllers and agents simulated.
func (f *fleet) overKubeStellar() {
	for _, k := range [][3]string{{"BindingPolicy", "bindingpolicies", "Cluster"}, {"Binding", "bindings", "Cluster"}, {"StatusCollector", "statuscollectors", "Cluster"},
		{"CombinedStatus", "combinedstatuses", "Namespaced"}, {"WorkStatus", "workstatuses", "Namespaced"}} {
		f.create(fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %[2]s.%[4]s}, spec: {group: %[4]s, scope: %[3]s,
			names: {plural: %[2]s, kind: %[1]s}, versions: [{name: %[5]s, served: true, storage: true, subresources: {status: {}},
			schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`, k[0], k[1], k[2], control.Group, control.Version))
	}
	time.Sleep(time.Minute) // a client asks for the kinds again
	f.create(`{apiVersion: control.kubestellar.io/v1alpha1, kind: StatusCollector, metadata: {name: agg},
		spec: {limit: 10, combinedFields: [{name: sum, type: SUM, subject: returned.status.availableReplicas}]}}`)
	collectors := f.collector("returned.status.availableReplicas")
	f.agents = func() {
		for _, p := range f.list(bindingPolicyKind) {
			f.distribute(p, collectors)
		}
	}
}

// write creates an object, or replaces what it says, and its status.
func (f *fleet) write(text string) {
	want := &unstructured.Unstructured{}
	require.NoError(f.t, yaml.Unmarshal([]byte(text), &want.Object))
	key := types.NamespacedName{Namespace: want.GetNamespace(), Name: want.GetName()}
	status := want.Object["status"]
	old, err := f.hub.Get(f.t.Context(), want.GroupVersionKind(), key)
	if apierrors.IsNotFound(err) {
		old, err = f.hub.Create(f.t.Context(), want, metav1.CreateOptions{})
	} else if err == nil {
		want.SetResourceVersion(old.GetResourceVersion())
		want.SetOwnerReferences(old.GetOwnerReferences())
		old, err = f.hub.Update(f.t.Context(), want, metav1.UpdateOptions{})
	}
	require.NoError(f.t, err)
	if status != nil {
		old.Object["status"] = status
		_, err = f.hub.Update(f.t.Context(), old, metav1.UpdateOptions{}, "status")
		require.NoError(f.t, err)
	}
}

// distribute does what KubeStellar and the agents do for a BindingPolicy.
func (f *fleet) distribute(obj unstructured.Unstructured, collectors map[string]*kubestellar.Collector) {
	p := new(control.BindingPolicy)
	require.NoError(f.t, runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, p))
	web := f.list(deploymentKind)[0]
	b, err := kubestellar.Resolve(p, kubestellar.Inventory{Clusters: f.clusters, Objects: []kubestellar.Object{{
		Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: "web", Labels: web.GetLabels(), ResourceVersion: web.GetResourceVersion()}}})
	require.NoError(f.t, err)
	text, err := yaml.Marshal(b)
	require.NoError(f.t, err)
	f.write(string(text))
	held := slices.ContainsFunc(b.Spec.Workload.NamespaceScope, func(c control.DownsyncClause) bool { return c.CreateOnly })
	in := kubestellar.Input{Binding: b, Object: &web, Resource: "deployments", Collectors: collectors, Reports: map[string]kubestellar.Report{}}
	for _, d := range b.Spec.Destinations {
		f.deliver(d.ClusterID, b.Name, &web, held)
		in.Reports[d.ClusterID] = kubestellar.Report{Status: map[string]any{"availableReplicas": f.ready(d.ClusterID)}}
	}
	if status, has := kubestellar.Combine(kubestellar.Upstream, in); has {
		status.OwnerReferences = nil
		text, err := yaml.Marshal(status)
		require.NoError(f.t, err)
		f.write(string(text))
	}
}

func (f *fleet) deliver(cluster, binding string, web *unstructured.Unstructured, held bool) {
	delivered := fleetpkg.Deliver(web)
	raw, err := delivered.MarshalJSON()
	require.NoError(f.t, err)
	manifest := string(raw)
	strategy := map[bool]string{true: "CreateOnly", false: "Update"}[held]
	f.write(fmt.Sprintf(`{apiVersion: work.open-cluster-management.io/v1, kind: ManifestWork,
		metadata: {namespace: %s, name: %s, labels: {transport.kubestellar.io/originOwnerReferenceBindingKey: %s}},
		spec: {workload: {manifests: [%s]}, manifestConfigs: [{updateStrategy: {type: %s},
			resourceIdentifier: {group: apps, resource: deployments, namespace: shop, name: web}}]}}`, cluster, binding, binding, manifest, strategy))
	if !held || f.have[cluster] == "" {
		containers, _, _ := unstructured.NestedSlice(web.Object, "spec", "template", "spec", "containers")
		f.have[cluster] = containers[0].(map[string]any)["image"].(string)
	}
	work, err := f.hub.Get(f.t.Context(), manifestwork.Kind, types.NamespacedName{Namespace: cluster, Name: binding})
	require.NoError(f.t, err)
	f.patch(manifestwork.Kind, cluster, binding, fmt.Sprintf(`{status: {conditions: [{type: Applied, status: "True", reason: X, message: "",
		lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: %d}]}}`, work.GetGeneration()), "status")
	f.ticks++
	f.write(fmt.Sprintf(`{apiVersion: control.kubestellar.io/v1alpha1, kind: WorkStatus, metadata: {namespace: %s, name: appsv1-deployment-shop-web},
		spec: {sourceRef: {group: apps, resource: deployments, namespace: shop, name: web}}, status: {availableReplicas: %d, seen: %d}}`, cluster, f.ready(cluster), f.ticks))
}
