package player_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/staged/application"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/manifestwork"
	"github.com/stagecraft-go/stagecraft/staged/player"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

var jobKind = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}

var bindingKind = control.GroupVersion.WithKind("Binding")

var deploymentKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}

// A fleet is a hub with a Player and simulated clusters behind one of the adapters. What a version is
// and how it reaches a cluster is up to the adapter; everything else is the same for all of them.
type fleet struct {
	t        *testing.T
	hub      *memory.Cluster
	clusters map[string]map[string]string
	have     map[string]string // the version in each cluster
	bad      map[string]bool   // cluster@version that does not become ready
	offline  map[string]bool
	unsaid   map[string]bool     // clusters whose agents do not confirm what they apply
	ever     map[string][]string // the versions that a cluster ever had
	options  player.Options
	push     func(version string)
	agents   func()
	old      bool // it can place an old revision
	joined   func(cluster string)
	behind   map[string]bool   // clusters for which KubeStellar writes and removes no ManifestWork
	lag      map[string]bool   // clusters whose controllers do not act on a new version yet
	acted    map[string]string // the version that the controllers of a cluster have acted on
	counts   map[string]int64  // the observedGeneration of a cluster; nil: statuses have none

	collectors map[string]*kubestellar.Collector
	errors     []any                                        // of the Bindings
	mayLose    bool                                         // clusters may lose the workload
	known      atomic.Pointer[map[string]map[string]string] // clusters, for the Player
}

// A port is one adapter under test.
type port struct {
	name string
	make func(*fleet)
}

var ports = []port{{"KubeStellar K1", (*fleet).overKubeStellar}, {"ManifestWork", (*fleet).overManifestWorks}, {"Application", (*fleet).overApplications}}

const portPolicy = `apiVersion: community.kubestellar.io/v1alpha1
kind: StagedBindingPolicy
metadata: {name: s}
spec:
  retention: Keep
  updates: Staged
  revisions: {settle: 2s}
  downsync: [{statusCollectors: [agg], objectSelectors: [{matchLabels: {app: web}}]}]
  stages:
  - {name: dev, clusterSelectors: [{matchLabels: {env: dev}}], condition: num('sum') == size(destinations)}
  - {name: prod, clusterSelectors: [{matchLabels: {env: prod}}], condition: num('sum') == size(destinations), progressDeadlineSeconds: 30, onFailure: Rollback}
`

func newFleet(t *testing.T, p port, policy string) *fleet {
	f := &fleet{t: t, have: map[string]string{}, bad: map[string]bool{}, offline: map[string]bool{}, ever: map[string][]string{}, old: true,
		clusters: map[string]map[string]string{"dev1": {"env": "dev", "name": "dev1"}, "prod1": {"env": "prod", "name": "prod1"}, "prod2": {"env": "prod", "name": "prod2"}},
		hub: memory.New(memory.Options{Kinds: []memory.Kind{
			{GroupVersionKind: bindingPolicyKind, Resource: "bindingpolicies", ClusterScoped: true, Status: true},
			{GroupVersionKind: control.GroupVersion.WithKind("Binding"), ClusterScoped: true, Status: true},
			{GroupVersionKind: control.GroupVersion.WithKind("CombinedStatus"), Resource: "combinedstatuses"},
			{GroupVersionKind: control.GroupVersion.WithKind("StatusCollector"), ClusterScoped: true},
			{GroupVersionKind: workStatusKind, Resource: "workstatuses", Status: true},
			{GroupVersionKind: deploymentKind, Status: true},
			{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ControllerRevision"}},
			{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}},
			{GroupVersionKind: jobKind, Status: true},
			{GroupVersionKind: manifestwork.Kind, Status: true},
			{GroupVersionKind: application.Kind},
		}})}
	first := f.clusters
	f.known.Store(&first)
	f.hub.TrackFields()
	require.NoError(t, f.hub.Load(t.Context(), []byte(v1alpha1.CRD()+"\n---\n"+policy)))
	f.options = player.Options{Clusters: func() map[string]map[string]string { return *f.known.Load() }, Snapshots: player.NewStore(f.hub),
		Workload: []player.WorkloadKind{{GroupVersionKind: deploymentKind}}}
	f.options.Trace = func(e player.TraceEvent) {
		if e.Err != nil && !apierrors.IsConflict(e.Err) {
			t.Log(time.Now().Format("15:04:05"), e.Err)
		}
	}
	f.push = f.applyDeployment
	p.make(f)
	return f
}

func collectorOf(t *testing.T, subject string) (*kubestellar.Collector, map[string]any) {
	spec := control.StatusCollectorSpec{CombinedFields: []control.NamedAggregator{{Name: "sum", Type: "SUM", Subject: &subject}}}
	c, err := kubestellar.Compile(spec)
	require.NoError(t, err)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	require.NoError(t, err)
	return c, fields
}

// put creates or replaces an object, with its status. It is called each second: a write that changes nothing,
// which a server ignores, would take most of the time of these tests.
func (f *fleet) put(fields map[string]any) {
	f.t.Helper()
	obj := &unstructured.Unstructured{Object: fields}
	key := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	status := fields["status"]
	old, err := f.hub.Get(f.t.Context(), obj.GroupVersionKind(), key)
	if apierrors.IsNotFound(err) {
		_, err = f.hub.Create(f.t.Context(), obj, metav1.CreateOptions{})
	} else if err == nil && !reflect.DeepEqual(old.Object["spec"], fields["spec"]) {
		old.Object["spec"] = fields["spec"]
		_, err = f.hub.Update(f.t.Context(), old, metav1.UpdateOptions{})
	}
	require.NoError(f.t, err)
	if status != nil {
		f.setStatus(obj.GroupVersionKind(), key, status)
	}
}

// setStatus writes a status, unless it is there. A Player may write the object at the same time.
func (f *fleet) setStatus(kind schema.GroupVersionKind, key types.NamespacedName, status any) {
	f.t.Helper()
	old, err := f.hub.Get(f.t.Context(), kind, key)
	require.NoError(f.t, err)
	one, _ := json.Marshal(old.Object["status"])
	other, _ := json.Marshal(status)
	if string(one) == string(other) {
		return
	}
	old.Object["status"] = status
	sub := []string{"status"}
	if kind == application.Kind {
		sub = nil
	}
	if _, err = f.hub.Update(f.t.Context(), old, metav1.UpdateOptions{}, sub...); apierrors.IsConflict(err) {
		f.setStatus(kind, key, status)
		return
	}
	require.NoError(f.t, err)
}

func (f *fleet) list(kind schema.GroupVersionKind) []unstructured.Unstructured {
	list, err := f.hub.List(f.t.Context(), kind, "", metav1.ListOptions{})
	require.NoError(f.t, err)
	return list.Items
}

// applyDeployment is kubectl apply of a version on the hub.
func (f *fleet) applyDeployment(version string) {
	f.put(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": "shop", "labels": map[string]any{"app": "web"}},
		"spec": map[string]any{"replicas": int64(1), "template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": version}}}}}})
}

// receive is a cluster that applies manifests.
func (f *fleet) receive(cluster string, version string) {
	if f.have[cluster] != version {
		f.ever[cluster] = append(f.ever[cluster], version)
	}
	f.have[cluster] = version
}

func (f *fleet) ready(cluster string) int64 {
	if f.bad[cluster+"@"+f.have[cluster]] {
		return 0
	}
	return 1
}

func imageOf(manifest map[string]any) string {
	list, _, _ := unstructured.NestedSlice(manifest, "spec", "template", "spec", "containers")
	image, _ := list[0].(map[string]any)["image"].(string)
	return image
}

func (f *fleet) overManifestWorks() {
	c, _ := collectorOf(f.t, "returned.status.availableReplicas")
	f.options.Transport = manifestwork.New(f.hub, manifestwork.Options{Clusters: f.options.Clusters, Feedback: map[string]string{"availableReplicas": ".availableReplicas"},
		Collectors: map[string]*kubestellar.Collector{"agg": c}})
	f.agents = func() {
		for _, work := range f.list(manifestwork.Kind) {
			if cluster := work.GetNamespace(); !f.offline[cluster] {
				f.manifestWorkAgent(cluster, work)
			}
		}
	}
}

// manifestWorkAgent is what an agent of Open Cluster Management does with a ManifestWork.
func (f *fleet) manifestWorkAgent(cluster string, work unstructured.Unstructured) {
	manifests, _, _ := unstructured.NestedSlice(work.Object, "spec", "workload", "manifests")
	configs, _, _ := unstructured.NestedSlice(work.Object, "spec", "manifestConfigs")
	manifest, config := manifests[0].(map[string]any), configs[0].(map[string]any)
	strategy, _, _ := unstructured.NestedString(config, "updateStrategy", "type")
	if strategy != "ReadOnly" {
		f.receive(cluster, imageOf(manifest))
	}
	if f.unsaid[cluster] {
		return
	}
	available := map[bool]string{true: "True", false: "False"}[f.have[cluster] != ""]
	rules, _, _ := unstructured.NestedSlice(config, "conditionRules")
	condition := func(kind, status, message string) map[string]any {
		return map[string]any{"type": kind, "status": status, "message": message, "reason": "X", "observedGeneration": work.GetGeneration(), "lastTransitionTime": "2026-01-01T00:00:00Z"}
	}
	conditions := []any{condition("Applied", "True", ""), condition("Available", available, "")}
	if strategy != "ReadOnly" {
		conditions = append(conditions, condition("RevisionShown", "True", fmt.Sprint(rules[0].(map[string]any)["message"])))
	}
	f.setStatus(manifestwork.Kind, types.NamespacedName{Namespace: cluster, Name: work.GetName()}, map[string]any{
		"conditions": []any{condition("Applied", "True", "")},
		"resourceStatus": map[string]any{"manifests": []any{map[string]any{
			"resourceMeta": map[string]any{"group": "apps", "resource": "deployments", "namespace": "shop", "name": "web"}, "conditions": conditions,
			"statusFeedback": map[string]any{"values": []any{map[string]any{"name": "availableReplicas", "fieldValue": map[string]any{"type": "Integer", "integer": f.ready(cluster)}}}},
		}}},
	})
}

func (f *fleet) overApplications() {
	c, _ := collectorOf(f.t, "returned.status.health == 'Healthy' ? 1 : 0")
	f.options.Transport = application.New(f.hub, application.Options{Clusters: f.options.Clusters, Name: application.ByCluster("web"), Namespace: "argocd",
		Collectors: map[string]*kubestellar.Collector{"agg": c}})
	f.options.Workload = nil
	f.joined = func(name string) {
		f.put(map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"namespace": "argocd", "name": "web-" + name},
			"spec": map[string]any{"source": map[string]any{"repoURL": "https://example.org/web.git"}}})
	}
	for name := range f.clusters {
		f.joined(name)
	}
	commit := func(version string) string { return strings.Repeat("0", 39) + version }
	f.push = func(version string) {
		source := fmt.Sprintf(`{"repoURL": "https://example.org/web.git", "path": "web", "targetRevision": %q}`, commit(version))
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{application.SourceAnnotation: source}}})
		require.NoError(f.t, err)
		_, err = f.hub.Patch(f.t.Context(), stagedPolicyKind, types.NamespacedName{Name: "s"}, types.MergePatchType, patch, metav1.PatchOptions{})
		require.NoError(f.t, err)
	}
	f.agents = func() {
		for _, app := range f.list(application.Kind) {
			cluster := strings.TrimPrefix(app.GetName(), "web-")
			source, _, _ := unstructured.NestedMap(app.Object, "spec", "source")
			target, _ := source["targetRevision"].(string)
			if target == "" || f.offline[cluster] {
				continue
			}
			key := types.NamespacedName{Namespace: "argocd", Name: app.GetName()}
			if f.receive(cluster, target[39:]); f.unsaid[cluster] {
				f.setStatus(application.Kind, key, map[string]any{"operationState": map[string]any{"phase": "Running"}})
				continue
			}
			health := map[int64]string{1: "Healthy", 0: "Degraded"}[f.ready(cluster)]
			f.setStatus(application.Kind, key, map[string]any{
				"sync":   map[string]any{"status": "Synced", "revision": target, "comparedTo": map[string]any{"source": source}},
				"health": map[string]any{"status": health},
			})
		}
	}
}

// overHubAlone is KubeStellar without access to the space: K0.
func (f *fleet) overHubAlone() {
	f.overKubeStellar()
	f.options.Space, f.options.Workload = nil, nil
}

func (f *fleet) overKubeStellar() {
	c, spec := collectorOf(f.t, "returned.status.availableReplicas")
	f.collectors = map[string]*kubestellar.Collector{"agg": c}
	f.put(map[string]any{"apiVersion": control.GroupVersion.String(), "kind": "StatusCollector", "metadata": map[string]any{"name": "agg"}, "spec": spec})
	f.options.Space, f.old = f.hub, false
	f.agents = func() {
		told := map[string]bool{}
		for _, obj := range f.list(bindingPolicyKind) {
			f.kubeStellar(&obj, told)
		}
		for _, work := range f.list(manifestwork.Kind) {
			if !told[work.GetNamespace()+"/"+work.GetName()] && !f.behind[work.GetNamespace()] {
				require.NoError(f.t, f.hub.Delete(f.t.Context(), manifestwork.Kind, types.NamespacedName{Namespace: work.GetNamespace(), Name: work.GetName()}, metav1.DeleteOptions{}))
				if !slices.ContainsFunc(slices.Collect(maps.Keys(told)), func(key string) bool { return strings.HasPrefix(key, work.GetNamespace()+"/") }) {
					f.have[work.GetNamespace()] = ""
				}
			}
		}
	}
}

// kubeStellar is what KubeStellar and the agents of its clusters do with one BindingPolicy.
func (f *fleet) kubeStellar(obj *unstructured.Unstructured, told map[string]bool) {
	p := new(control.BindingPolicy)
	require.NoError(f.t, runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, p))
	web, err := f.hub.Get(f.t.Context(), deploymentKind, types.NamespacedName{Namespace: "shop", Name: "web"})
	if err != nil {
		return
	}
	b, err := kubestellar.Resolve(p, kubestellar.Inventory{Clusters: f.clusters, Objects: []kubestellar.Object{{
		Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: "web", Labels: web.GetLabels(), ResourceVersion: web.GetResourceVersion()}}})
	require.NoError(f.t, err)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(b)
	require.NoError(f.t, err)
	delete(fields["metadata"].(map[string]any), "creationTimestamp")
	f.put(fields)
	if f.errors != nil {
		f.setStatus(bindingKind, types.NamespacedName{Name: b.Name}, map[string]any{"errors": f.errors})
		synctest.Wait() // the kinds are watched apart: a Player may see a report before an earlier error
	}
	held := slices.ContainsFunc(b.Spec.Workload.NamespaceScope, func(c control.DownsyncClause) bool { return c.CreateOnly })
	for _, d := range b.Spec.Destinations {
		told[d.ClusterID+"/"+b.Name] = true
		f.deliverKubeStellar(d.ClusterID, b.Name, web, held)
	}
	f.combine(b, web)
}

// combine writes the CombinedStatus of a Binding.
func (f *fleet) combine(b *control.Binding, web *unstructured.Unstructured) {
	in := kubestellar.Input{Binding: b, Object: web, Resource: "deployments", Collectors: f.collectors, Reports: map[string]kubestellar.Report{}}
	for _, d := range b.Spec.Destinations {
		if f.have[d.ClusterID] != "" {
			in.Reports[d.ClusterID] = kubestellar.Report{Status: map[string]any{"availableReplicas": f.ready(d.ClusterID)}}
		}
	}
	status, has := kubestellar.Combine(kubestellar.Upstream, in)
	if !has {
		return
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	require.NoError(f.t, err)
	delete(fields["metadata"].(map[string]any), "creationTimestamp")
	delete(fields["metadata"].(map[string]any), "ownerReferences")
	obj := &unstructured.Unstructured{Object: fields}
	old, err := f.hub.Get(f.t.Context(), obj.GroupVersionKind(), types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()})
	if apierrors.IsNotFound(err) {
		_, err = f.hub.Create(f.t.Context(), obj, metav1.CreateOptions{})
		require.NoError(f.t, err)
		return
	}
	require.NoError(f.t, err)
	if reflect.DeepEqual(old.Object["results"], fields["results"]) {
		return
	}
	old.Object["results"] = fields["results"]
	_, err = f.hub.Update(f.t.Context(), old, metav1.UpdateOptions{})
	require.NoError(f.t, err)
}

func (f *fleet) deliverKubeStellar(cluster, binding string, web *unstructured.Unstructured, held bool) {
	if f.behind[cluster] {
		return
	}
	strategy := map[bool]string{true: "CreateOnly", false: "Update"}[held]
	manifest := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": "shop"}, "spec": web.Object["spec"]}
	labels, _, _ := unstructured.NestedMap(web.Object, "metadata", "labels")
	manifest["metadata"].(map[string]any)["labels"] = labels
	f.put(map[string]any{"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
		"metadata": map[string]any{"name": binding, "namespace": cluster, "labels": map[string]any{"transport.kubestellar.io/originOwnerReferenceBindingKey": binding}},
		"spec": map[string]any{"workload": map[string]any{"manifests": []any{manifest}},
			"manifestConfigs": []any{map[string]any{"updateStrategy": map[string]any{"type": strategy}}}}})
	if f.offline[cluster] {
		return
	}
	key := types.NamespacedName{Namespace: cluster, Name: binding}
	work, err := f.hub.Get(f.t.Context(), manifestwork.Kind, key)
	require.NoError(f.t, err)
	if !held || f.have[cluster] == "" {
		f.receive(cluster, imageOf(manifest))
	}
	if !f.unsaid[cluster] {
		f.setStatus(manifestwork.Kind, key, map[string]any{"conditions": []any{map[string]any{"type": "Applied", "status": "True", "observedGeneration": work.GetGeneration()}}})
	}
	f.put(map[string]any{"apiVersion": control.GroupVersion.String(), "kind": "WorkStatus", "metadata": map[string]any{"name": "appsv1-deployment-shop-web", "namespace": cluster},
		"spec":   map[string]any{"sourceRef": map[string]any{"group": "apps", "resource": "deployments", "namespace": "shop", "name": "web"}},
		"status": f.statusOf(cluster)})
}

// statusOf is the status of the Deployment in a cluster, as its controller has written it last, with
// something that changes every five seconds.
func (f *fleet) statusOf(cluster string) map[string]any {
	status := map[string]any{"availableReplicas": f.ready(cluster), "seen": f.have[cluster] + fmt.Sprint(time.Now().Unix()/5)}
	if f.counts == nil {
		return status
	}
	if f.acted[cluster] != f.have[cluster] && !f.lag[cluster] {
		f.acted[cluster] = f.have[cluster]
		f.counts[cluster]++
	}
	status["observedGeneration"] = f.counts[cluster]
	if f.lag[cluster] {
		status["availableReplicas"] = int64(1) // of the version before
	}
	return status
}

// run lets seconds pass. Never does a cluster that has the workload lose it.
func (f *fleet) run(seconds int) {
	f.t.Helper()
	for range seconds {
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		before := maps.Clone(f.have)
		f.agents()
		for c, version := range before {
			require.False(f.t, !f.mayLose && version != "" && f.have[c] == "", "%s loses the workload", c)
		}
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
	}
}

func (f *fleet) status() (s v1alpha1.Status) {
	obj, err := f.hub.Get(f.t.Context(), stagedPolicyKind, types.NamespacedName{Name: "s"})
	require.NoError(f.t, err)
	var p v1alpha1.StagedBindingPolicy
	require.NoError(f.t, runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &p))
	return p.Status
}

func (f *fleet) message() string { return f.status().Conditions[0].Message }

func (f *fleet) holds(condition string) bool {
	return meta.IsStatusConditionTrue(f.status().Conditions, condition)
}

func (f *fleet) phase(stage string) v1alpha1.Phase {
	for _, s := range f.status().Stages {
		if s.Name == stage {
			return s.Phase
		}
	}
	return ""
}

// play runs a Player over a fleet.
func (f *fleet) play(do func()) {
	ctx, stop := context.WithCancel(f.t.Context())
	done := make(chan error)
	go func() { done <- player.Play(ctx, f.hub, f.options) }()
	do()
	stop()
	<-done
}

// eachPort plays a test over all adapters.
func eachPort(t *testing.T, policy string, do func(t *testing.T, f *fleet)) {
	for _, p := range ports {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { do(t, newFleet(t, p, policy)) })
		})
	}
}

func versions(dev, prod string) map[string]string {
	return map[string]string{"dev1": dev, "prod1": prod, "prod2": prod}
}

func yamlInto(text string, obj *unstructured.Unstructured) error {
	return yaml.Unmarshal([]byte(text), &obj.Object)
}
