package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/kube/ctrlruntime"
	"github.com/stagecraft-go/stagecraft/stage/transport"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/player"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// threeStages is a policy that moves the Deployments of the namespace of its name from dev over
// test to prod, with a person's consent to the last.
func threeStages(name string) string {
	const done = `condition: "num('ready') == size(destinations)"`
	stage := func(name, more string) string {
		return "{name: " + name + ", clusterSelectors: [{matchLabels: {env: " + name + "}}], " + done + more + "}"
	}
	return policyText(name, `{downsync: [{apiGroup: apps, resources: [deployments], namespaces: [`+name+`], statusCollectors: [ready]}],
		stages: [`+stage("dev", ", soak: 1s")+", "+stage("test", "")+", "+stage("prod", ", approval: {before: true}")+"]}")
}

// newKubeStellar creates a policy and its Deployment for each name, and five clusters.
func newKubeStellar(t *testing.T, hub *kube.Cluster, policies ...string) *kubeStellar {
	t.Helper()
	filter := "has(returned.status.availableReplicas) && returned.status.availableReplicas == obj.spec.replicas"
	ready, err := kubestellar.Compile(control.StatusCollectorSpec{Filter: &filter, CombinedFields: []control.NamedAggregator{{Name: "ready", Type: "COUNT"}}})
	require.NoError(t, err)
	g := &kubeStellar{
		t: t, hub: hub, collectors: map[string]*kubestellar.Collector{"ready": ready}, clusters: map[string]map[string]string{},
		workload: map[string]*unstructured.Unstructured{}, broken: map[string]bool{},
	}
	for _, cluster := range []string{"dev1", "dev2", "test1", "prod1", "prod2"} {
		g.clusters[cluster] = map[string]string{"env": strings.TrimRight(cluster, "12"), "name": cluster}
		createNamespace(t, hub, cluster)
	}
	for _, name := range policies {
		g.add(name, threeStages(name))
	}
	return g
}

// add creates a policy and its Deployment.
func (g *kubeStellar) add(name, policy string) {
	create(g.t, g.hub, "{apiVersion: v1, kind: Namespace, metadata: {name: "+name+"}}")
	g.workload[name] = create(g.t, g.hub, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: `+name+`},
  spec: {replicas: 2, selector: {matchLabels: {app: web}},
			template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: a1}]}}}}`)
	create(g.t, g.hub, policy)
}

// rollout is the status of a policy.
func (g *kubeStellar) rollout(policy string) (status v1alpha1.Status) {
	obj, err := g.hub.Get(g.t.Context(), stagedKind, types.NamespacedName{Name: policy})
	require.NoError(g.t, err)
	var stored v1alpha1.StagedBindingPolicy
	require.NoError(g.t, runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &stored))
	return stored.Status
}

// waitPhase calls step until a stage of a policy is in a phase with a message.
func (g *kubeStellar) waitPhase(policy, stage string, phase v1alpha1.Phase, message string) {
	g.t.Helper()
	var last v1alpha1.Status
	defer func() {
		if g.t.Failed() {
			g.t.Logf("%+v", last)
		}
	}()
	eventually(g.t, policy+" reaches "+stage, func() bool {
		g.step()
		last = g.rollout(policy)
		return slices.ContainsFunc(last.Stages, func(s v1alpha1.StageStatus) bool {
			return s.Name == stage && s.Phase == phase && strings.Contains(s.Message, message)
		})
	})
}

// waitSinglePolicy calls step until a policy has exactly one BindingPolicy, with this name.
func (g *kubeStellar) waitSinglePolicy(policy, name string) {
	g.t.Helper()
	eventually(g.t, "the workload is at "+name+" alone", func() bool {
		g.step()
		var names []string
		for _, p := range g.list(policyKind) {
			if strings.HasPrefix(p.GetName(), policy+".stage.") {
				names = append(names, p.GetName())
			}
		}
		return slices.Equal([]string{name}, names)
	})
}

// minimumPolicies returns a function that returns the smallest number of BindingPolicies that a
// policy had since it first had one.
func (g *kubeStellar) minimumPolicies(policy string) func() int {
	list, err := g.hub.List(g.t.Context(), policyKind, "", metav1.ListOptions{})
	require.NoError(g.t, err)
	changes, err := g.hub.Watch(g.t.Context(), policyKind, "", metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	require.NoError(g.t, err)
	fewest := make(chan int)
	go func() {
		there, least := map[string]bool{}, 1
		for e := range changes.ResultChan() {
			obj, ok := e.Object.(*unstructured.Unstructured)
			if !ok || !strings.HasPrefix(obj.GetName(), policy+".stage.") {
				continue
			}
			there[obj.GetName()] = true
			if e.Type == watch.Deleted {
				delete(there, obj.GetName())
			}
			least = min(least, len(there))
		}
		fewest <- least
	}()
	return func() int {
		changes.Stop()
		return <-fewest
	}
}

// events are the Events of a policy, as in kubectl describe, in no order.
func (g *kubeStellar) events(policy string) (events []string) {
	list, err := g.hub.List(g.t.Context(), eventKind, metav1.NamespaceDefault, metav1.ListOptions{FieldSelector: "involvedObject.kind=" + v1alpha1.Kind + ",involvedObject.name=" + policy})
	require.NoError(g.t, err)
	for _, e := range list.Items {
		events = append(events, fmt.Sprint(e.Object["type"], " ", e.Object["reason"], ": ", e.Object["message"]))
	}
	return events
}

// TestStagedRollouts moves two workloads over three stages of clusters on a real server. One
// succeeds, across a restart of the player, which then reads the hub through the cache of a
// manager. The other one fails in one cluster until the cluster is repaired.
func TestStagedRollouts(t *testing.T) {
	t.Parallel()
	hub := newCluster(t)
	defineKubeStellar(t, hub)
	g := newKubeStellar(t, hub, "smooth", "rough")
	g.setBroken("test1", "rough", true)
	least := g.minimumPolicies("smooth")
	play := func(hub transport.Transport) (stop func()) {
		return background(t, func(ctx context.Context) error {
			return player.Play(ctx, hub, player.Options{
				Clusters: func() map[string]map[string]string { return g.clusters }, WorkStatuses: hub, Events: hub,
			})
		})
	}
	stop := play(hub)

	g.waitPhase("smooth", "test", v1alpha1.Soaking, "approval")
	g.waitSinglePolicy("smooth", "smooth.stage.test")
	g.waitPhase("rough", "test", v1alpha1.Progressing, "ready")
	stop()
	_, err := hub.Patch(t.Context(), stagedKind, types.NamespacedName{Name: "smooth"}, types.MergePatchType,
		[]byte(`{"metadata": {"annotations": {"approval.community.kubestellar.io/before.prod": "jane"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Equal(t, "test", g.rollout("smooth").ActiveStage, "nobody plays")

	mgr, _ := newManager(t, plane.Config(), manager.Options{})
	cached, err := ctrlruntime.ForManager(mgr)
	require.NoError(t, err)
	start(t, mgr)
	defer play(cached)()
	g.waitPhase("smooth", "prod", v1alpha1.Succeeded, "")
	g.waitSinglePolicy("smooth", "smooth.stage.prod")
	g.waitSinglePolicy("rough", "rough.stage.test")
	require.Equal(t, "jane", g.rollout("smooth").Stages[2].ApprovedBefore)
	require.Equal(t, 1, least(), "the workload was somewhere all the time")
	want := []string{
		`Normal StageStarted: stage "dev"`, `Normal BindingPolicyCreated: created BindingPolicy smooth.stage.dev`, `Normal StageSatisfied: stage "dev" is satisfied`,
		`Normal StageStarted: stage "test"`, `Normal BindingPolicyCreated: created BindingPolicy smooth.stage.test`, `Normal BindingPolicyDeleted: deleted BindingPolicy smooth.stage.dev`,
		`Normal StageSatisfied: stage "test" is satisfied`,
		`Normal StageStarted: stage "prod"`, `Normal BindingPolicyCreated: created BindingPolicy smooth.stage.prod`, `Normal BindingPolicyDeleted: deleted BindingPolicy smooth.stage.test`,
		`Normal Succeeded: stage "prod", the last, is satisfied`,
	}
	eventually(t, "all Events are written", func() bool { return len(g.events("smooth")) >= len(want) })
	require.ElementsMatch(t, want, g.events("smooth"), "each once")

	g.setBroken("test1", "rough", false)
	g.waitPhase("rough", "test", v1alpha1.Soaking, "approval")
}
