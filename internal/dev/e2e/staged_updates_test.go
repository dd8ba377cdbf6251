package e2e_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/player"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// cautious is a policy whose updates are staged: cluster by cluster, batch by batch, and at once
// when a person consents.
const cautious = `{apiVersion: community.kubestellar.io/v1alpha1, kind: StagedBindingPolicy, metadata: {name: cautious}, spec: {
  retention: Keep, updates: Staged, requireEvidence: None, downsync: [{apiGroup: apps, resources: [deployments], namespaces: [cautious], statusCollectors: [ready]}],
  stages: [
    {name: dev, clusterSelectors: [{matchLabels: {env: dev}}], condition: "num('ready') == size(destinations)",
     perCluster: {maxUnavailable: 1, progressDeadlineSeconds: 3600, minSuccessTime: 1s}, stageDeadlineSeconds: 7200},
    {name: prod, clusterSelectors: [{matchLabels: {env: prod}}], condition: "num('ready') == size(destinations)",
     maxConcurrency: 1, batchSoak: 1s, windows: [{cron: "0 0 * * *", duration: 24h}], batchesInWindows: true,
     failureCondition: "false", onFailure: Pause},
    {name: test, clusterSelectors: [{matchLabels: {env: test}}], condition: "num('ready') == size(destinations)",
     approval: {before: true, timeoutSeconds: 86400}}]}}`

// frozen lists the BindingPolicies of a policy that let no new version of the workload through.
func (g *kubeStellar) frozen(policy string) (names []string) {
	for _, p := range g.list(policyKind) {
		clauses, _, err := unstructured.NestedSlice(p.Object, "spec", "downsync")
		require.NoError(g.t, err)
		if clause, is := clauses[0].(map[string]any); is && clause["createOnly"] == true {
			names = append(names, p.GetName())
		}
	}
	slices.Sort(names)
	return names
}

func (g *kubeStellar) patch(policy, body string) {
	_, err := g.hub.Patch(g.t.Context(), stagedKind, types.NamespacedName{Name: policy}, types.MergePatchType, []byte(body), metav1.PatchOptions{})
	require.NoError(g.t, err)
}

// TestStagedUpdates rolls a new image out on a real server: objects that are not being updated have
// createOnly.
func TestStagedUpdates(t *testing.T) {
	t.Parallel()
	hub := newCluster(t)
	defineKubeStellar(t, hub)
	g := newKubeStellar(t, hub)
	g.add("cautious", cautious)
	defer background(t, func(ctx context.Context) error {
		return player.Play(ctx, hub, player.Options{Clusters: func() map[string]map[string]string { return g.clusters }, Events: hub})
	})()
	g.waitPhase("cautious", "prod", v1alpha1.Soaking, "annotation approval.community.kubestellar.io/before.test")

	g.setBroken("dev2", "cautious", true)
	image := `[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "a2"}]`
	web, err := hub.Patch(t.Context(), deploymentKind, types.NamespacedName{Namespace: "cautious", Name: "web"}, types.JSONPatchType, []byte(image), metav1.PatchOptions{})
	require.NoError(t, err)
	g.workload["cautious"] = web
	g.waitPhase("cautious", "dev", v1alpha1.Progressing, "(1 of 2 clusters are without success, at most 1 may be)")
	eventually(t, "all but the clusters of dev are frozen", func() bool {
		g.step()
		names := g.frozen("cautious")
		return slices.Contains(names, "cautious.stage.prod.1") && slices.Contains(names, "cautious.stage.prod.2") && !slices.Contains(names, "cautious.stage.dev.2")
	})
	g.setBroken("dev2", "cautious", false)
	g.waitPhase("cautious", "prod", v1alpha1.Soaking, "annotation approval.community.kubestellar.io/before.test")
	ticket := g.rollout("cautious").Stages[2].Awaiting.Ticket
	g.patch("cautious", `{"metadata": {"annotations": {"approval.community.kubestellar.io/before.test": "`+ticket+` jane"}}}`)
	g.waitPhase("cautious", "test", v1alpha1.Succeeded, "")
	g.patch("cautious", `{"spec": {"paused": true}}`)
	eventually(t, "it is observed", func() bool { return g.rollout("cautious").ObservedGeneration == 2 })
}
