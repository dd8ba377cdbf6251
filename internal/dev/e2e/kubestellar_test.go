package e2e_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

var (
	policyKind   = controlKind("BindingPolicy")
	bindingKind  = controlKind("Binding")
	combinedKind = controlKind("CombinedStatus")
	workKind     = controlKind("WorkStatus")
	stagedKind   = schema.GroupVersionKind{Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: v1alpha1.Kind}
)

func controlKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: control.Group, Version: control.Version, Kind: kind}
}

// definitionOf is a CustomResourceDefinition of one of KubeStellar's kinds, as small as can be: any
// fields, and the status a subresource.
func definitionOf(kind, plural, scope string) string {
	return fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %[2]s.%[4]s}, spec: {group: %[4]s, scope: %[3]s,
		names: {plural: %[2]s, singular: %[5]s, kind: %[1]s, listKind: %[1]sList}, versions: [{name: %[6]s, served: true, storage: true, subresources: {status: {}},
		schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`, kind, plural, scope, control.Group, strings.ToLower(kind), control.Version)
}

// hubInUse is held by the test whose player plays: it plays every StagedBindingPolicy of the server.
var hubInUse sync.Mutex

// defineKubeStellar installs the definitions of a rollout's kinds. The hub is the test's alone until
// it ends.
func defineKubeStellar(t *testing.T, cluster *kube.Cluster) {
	t.Helper()
	hubInUse.Lock()
	t.Cleanup(hubInUse.Unlock)
	crds := decode(t, strings.Join([]string{
		v1alpha1.CRD(), definitionOf("BindingPolicy", "bindingpolicies", "Cluster"), definitionOf("Binding", "bindings", "Cluster"),
		definitionOf("CombinedStatus", "combinedstatuses", "Namespaced"), definitionOf("WorkStatus", "workstatuses", "Namespaced"),
	}, "\n---\n"))
	for _, crd := range crds {
		if _, err := cluster.Create(t.Context(), crd, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
			require.NoError(t, err)
		}
	}
	for _, crd := range crds {
		eventually(t, crd.GetName()+" is served", func() bool { return served(t, cluster, crd) })
	}
}

// A kubeStellar replaces KubeStellar's controllers on a real server, and the clusters. Each cluster
// runs the objects that are bound to it, unless the test breaks the cluster.
type kubeStellar struct {
	t          *testing.T
	hub        *kube.Cluster
	clusters   map[string]map[string]string
	collectors map[string]*kubestellar.Collector
	workload   map[string]*unstructured.Unstructured // the Deployment of a policy, by the name of the policy

	mu     sync.Mutex
	broken map[string]bool // "cluster/policy"
}

// step does all that KubeStellar would do now.
func (g *kubeStellar) step() {
	wanted := map[schema.GroupVersionKind]map[types.NamespacedName]any{bindingKind: {}, combinedKind: {}}
	for _, p := range g.list(policyKind) {
		var policy control.BindingPolicy
		require.NoError(g.t, runtime.DefaultUnstructuredConverter.FromUnstructured(p.Object, &policy))
		owner, _, _ := strings.Cut(policy.Name, ".stage.")
		deployment := g.workload[owner]
		binding, err := kubestellar.Resolve(&policy, kubestellar.Inventory{Clusters: g.clusters, Objects: []kubestellar.Object{{
			Group: "apps", Version: "v1", Resource: "deployments", Namespace: deployment.GetNamespace(), Name: deployment.GetName(), ResourceVersion: deployment.GetResourceVersion(),
		}}})
		require.NoError(g.t, err)
		wanted[bindingKind][types.NamespacedName{Name: binding.Name}] = binding
		in := kubestellar.Input{Binding: binding, Object: deployment, Resource: "deployments", Collectors: g.collectors, Reports: map[string]kubestellar.Report{}}
		for _, d := range binding.Spec.Destinations {
			in.Reports[d.ClusterID] = kubestellar.Report{Status: g.report(d.ClusterID, owner)}
		}
		status, ok := kubestellar.Combine(kubestellar.Upstream, in)
		require.True(g.t, ok)
		wanted[combinedKind][types.NamespacedName{Namespace: status.Namespace, Name: status.Name}] = status
	}
	for kind, objs := range wanted {
		g.publish(kind, objs)
	}
}

func (g *kubeStellar) list(kind schema.GroupVersionKind) (mine []unstructured.Unstructured) {
	list, err := g.hub.List(g.t.Context(), kind, "", metav1.ListOptions{})
	require.NoError(g.t, err)
	for _, item := range list.Items {
		name := item.GetName()
		if kind == combinedKind {
			name = item.GetLabels()[control.StatusLabelPrefix+"binding-policy"]
		}
		if owner, _, _ := strings.Cut(name, ".stage."); g.workload[owner] != nil {
			mine = append(mine, item)
		}
	}
	return mine
}

// report is the report of a cluster about the Deployment of a policy. It is also in a WorkStatus,
// whose status is written once.
func (g *kubeStellar) report(cluster, policy string) map[string]any {
	g.mu.Lock()
	defer g.mu.Unlock()
	available := int64(2)
	if g.broken[cluster+"/"+policy] {
		available = 0
	}
	deployment, status := g.workload[policy], map[string]any{"availableReplicas": available}
	work := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": cluster, "name": "appsv1-deployment-" + deployment.GetNamespace() + "-" + deployment.GetName()},
		"spec": map[string]any{"sourceRef": map[string]any{
			"group": "apps", "version": "v1", "resource": "deployments", "kind": "Deployment", "namespace": deployment.GetNamespace(), "name": deployment.GetName(),
		}},
		"statusDetails": map[string]any{"lastGeneration": int64(1), "lastGenerationIsApplied": true},
	}}
	work.SetGroupVersionKind(workKind)
	stored, err := g.hub.Create(g.t.Context(), work, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return status
	}
	require.NoError(g.t, err)
	stored.Object["status"] = status
	_, err = g.hub.Update(g.t.Context(), stored, metav1.UpdateOptions{}, "status")
	require.NoError(g.t, err)
	return status
}

// publish creates and updates the wanted objects, and deletes the others.
func (g *kubeStellar) publish(kind schema.GroupVersionKind, wanted map[types.NamespacedName]any) {
	old := map[types.NamespacedName]*unstructured.Unstructured{}
	for _, item := range g.list(kind) {
		if wanted[nameOf(&item)] != nil {
			old[nameOf(&item)] = &item
			continue
		}
		require.NoError(g.t, g.hub.Delete(g.t.Context(), kind, nameOf(&item), metav1.DeleteOptions{}))
	}
	for name, obj := range wanted {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		require.NoError(g.t, err)
		next := &unstructured.Unstructured{Object: fields}
		next.SetCreationTimestamp(metav1.Time{})
		if old[name] == nil {
			_, err = g.hub.Create(g.t.Context(), next, metav1.CreateOptions{})
		} else if !equality.Semantic.DeepEqual(old[name].Object["results"], fields["results"]) || !equality.Semantic.DeepEqual(old[name].Object["spec"], fields["spec"]) {
			next.SetResourceVersion(old[name].GetResourceVersion())
			_, err = g.hub.Update(g.t.Context(), next, metav1.UpdateOptions{})
		}
		require.NoError(g.t, err)
	}
}

// setBroken says whether a cluster cannot run the workload of a policy.
func (g *kubeStellar) setBroken(cluster, policy string, broken bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.broken[cluster+"/"+policy] = broken
}
