package rehearse_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	stageplayer "github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/staged/player"
	"github.com/stagecraft-go/stagecraft/staged/rehearse"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

var (
	foundryKind = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Foundry"}
	stagedKind  = schema.GroupVersionKind{Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: v1alpha1.Kind}
)

const collector = `
---
apiVersion: control.kubestellar.io/v1alpha1
kind: StatusCollector
metadata: {name: ready}
spec: {filter: has(returned.status.ready) && returned.status.ready, combinedFields: [{name: clusters, type: COUNT}]}
`

// sky is a hub and two clusters, with KubeStellar between them.
func sky(t *testing.T, hubYAML string) (*memory.Cluster, map[string]*memory.Cluster, *rehearse.KubeStellar) {
	t.Helper()
	hub := memory.New(memory.Options{Kinds: rehearse.Kinds()})
	require.NoError(t, hub.Load(t.Context(), []byte(hubYAML+foundries)))
	members := map[string]*memory.Cluster{"dev1": memory.New(memory.Options{}), "prod1": memory.New(memory.Options{})}
	o := rehearse.KubeStellarOptions{Hub: hub, Workload: []schema.GroupVersionKind{foundryKind}, Latency: time.Second}
	for name, cluster := range members {
		require.NoError(t, cluster.Load(t.Context(), []byte(foundries)))
		o.Members = append(o.Members, rehearse.Member{Name: name, Labels: map[string]string{"env": name[:len(name)-1]}, Cluster: cluster})
	}
	ks, err := rehearse.NewKubeStellar(o)
	require.NoError(t, err)
	return hub, members, ks
}

// TestPlayerOverKubeStellar plays a rollout over members that Stages play in, all in virtual time.
func TestPlayerOverKubeStellar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, members, ks := sky(t, foundry+collector+"---\n"+v1alpha1.CRD())
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 3)
		defer stop()
		go func() {
			done <- player.Play(ctx, hub, player.Options{Clusters: ks.Clusters, Reports: ks.Reports})
		}()
		set, err := stage.Compile(stage.Options{}, stage.Parse("stages.yaml", []byte(stages)))
		require.NoError(t, err)
		for _, cluster := range members {
			go func() { done <- stageplayer.Play(ctx, set, cluster.Share(), stageplayer.Options{}) }()
		}
		synctest.Wait()
		seconds := 0
		for ; len(objects(t, members["prod1"])) == 0 && seconds < 20; seconds++ {
			require.NoError(t, ks.Step(ctx, time.Now()))
			time.Sleep(time.Second)
			synctest.Wait()
		}
		require.Equal(t, 6, seconds, "steps: to place it in dev, three seconds there, one on the way, to place it in prod")
		require.NoError(t, ks.Step(ctx, time.Now()))
		time.Sleep(time.Second)
		require.NoError(t, ks.Step(ctx, time.Now()))
		require.Empty(t, objects(t, members["dev1"]))
		policy, err := hub.Get(ctx, stagedKind, types.NamespacedName{Name: "foundry"})
		require.NoError(t, err)
		active, _, _ := unstructured.NestedString(policy.Object, "status", "activeStage")
		require.Equal(t, "prod", active)
		stop()
		for range 3 {
			<-done
		}
	})
}

func objects(t *testing.T, cluster *memory.Cluster) []unstructured.Unstructured {
	t.Helper()
	list, err := cluster.List(t.Context(), foundryKind, "", metav1.ListOptions{})
	require.NoError(t, err)
	return list.Items
}

const toDev = collector + `---
apiVersion: control.kubestellar.io/v1alpha1
kind: BindingPolicy
metadata: {name: foundry.stage.dev}
spec:
  clusterSelectors: [{matchLabels: {env: dev}}]
  downsync: [{statusCollectors: [ready], resources: [foundries]}]
---
apiVersion: example.org/v1
kind: Foundry
metadata: {name: f, namespace: iron}
spec: {heat: 1}
`

func TestKubeStellarStepsToWhatTheHubSays(t *testing.T) {
	hub, members, ks := sky(t, toDev)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	step := func() {
		t.Helper()
		require.NoError(t, ks.Step(t.Context(), now))
		now = now.Add(time.Second)
	}
	patch := func(cluster *memory.Cluster, name, data string, sub ...string) {
		t.Helper()
		_, err := cluster.Patch(t.Context(), foundryKind, types.NamespacedName{Namespace: "iron", Name: name}, types.MergePatchType, []byte(data), metav1.PatchOptions{}, sub...)
		require.NoError(t, err)
	}
	count := func() (n string) {
		t.Helper()
		list, err := hub.List(t.Context(), schema.GroupVersionKind{Group: "control.kubestellar.io", Version: "v1alpha1", Kind: "CombinedStatus"}, "", metav1.ListOptions{})
		require.NoError(t, err)
		for _, s := range list.Items {
			results, _, err := unstructured.NestedSlice(s.Object, "results")
			require.NoError(t, err)
			cell := results[0].(map[string]any)["rows"].([]any)[0].(map[string]any)["columns"].([]any)[0].(map[string]any)
			n += cell["float"].(string)
		}
		return n
	}
	step()
	require.Len(t, objects(t, members["dev1"]), 1)
	require.Empty(t, objects(t, members["prod1"]))
	require.Equal(t, "0", count())
	version := hubVersion(t, hub)
	step()
	require.Equal(t, version, hubVersion(t, hub), "nothing to do is nothing written")

	patch(members["dev1"], "f", `{"status": {"ready": true}}`, "status")
	step()
	require.Equal(t, "0", count(), "on its way")
	step()
	require.Equal(t, "1", count())
	reports := ks.Reports("foundry")
	require.Len(t, reports, 1)
	require.Equal(t, now.Add(-time.Second), reports[0].Clusters[0].LastReturned)
	require.Empty(t, ks.Reports("found"))

	patch(hub, "f", `{"spec": {"heat": 2}}`)
	step()
	heat, _, _ := unstructured.NestedInt64(objects(t, members["dev1"])[0].Object, "spec", "heat")
	require.EqualValues(t, 2, heat)
	ready, _, _ := unstructured.NestedBool(objects(t, members["dev1"])[0].Object, "status", "ready")
	require.True(t, ready, "its status stays")
	r := ks.Reports("foundry")[0].Clusters[0]
	require.True(t, r.LastReturned.Before(r.BoundAt), "what was reported is of the version before")

	kind := schema.GroupVersionKind{Group: "control.kubestellar.io", Version: "v1alpha1", Kind: "BindingPolicy"}
	require.NoError(t, hub.Delete(t.Context(), kind, types.NamespacedName{Name: "foundry.stage.dev"}, metav1.DeleteOptions{}))
	step()
	require.Empty(t, objects(t, members["dev1"]))
	require.Equal(t, "", count(), "no CombinedStatus is left")
}

func hubVersion(t *testing.T, hub *memory.Cluster) string {
	list, err := hub.List(t.Context(), foundryKind, "", metav1.ListOptions{})
	require.NoError(t, err)
	return list.GetResourceVersion()
}

func TestFaultsOnTheHubConcernOneObject(t *testing.T) {
	_, members, ks := sky(t, toDev+`---
apiVersion: control.kubestellar.io/v1alpha1
kind: StatusCollector
metadata: {name: broken}
spec: {filter: "returned."}
---
apiVersion: control.kubestellar.io/v1alpha1
kind: StatusCollector
metadata: {name: misshapen}
spec: {filter: 7}
---
apiVersion: control.kubestellar.io/v1alpha1
kind: BindingPolicy
metadata: {name: broken}
spec: {clusterSelectors: [{matchExpressions: [{key: env, operator: Within}]}]}
`)
	err := ks.Step(t.Context(), time.Now())
	for _, want := range []string{"StatusCollector broken: filter expression invalid", "StatusCollector misshapen: ", "BindingPolicy broken: clusterSelectors[0]: "} {
		require.ErrorContains(t, err, want)
	}
	require.Len(t, objects(t, members["dev1"]), 1)
	_, err = rehearse.NewKubeStellar(rehearse.KubeStellarOptions{Members: []rehearse.Member{{}, {Name: "a", Cluster: members["dev1"]}, {Name: "a"}}, Latency: -1})
	require.EqualError(t, err, `KubeStellarOptions.Hub: missing
KubeStellarOptions.Members[0].Name: missing
KubeStellarOptions.Members[0].Cluster: missing
KubeStellarOptions.Members[2].Name: number 1 has the name "a" too
KubeStellarOptions.Members[2].Cluster: missing
KubeStellarOptions.Latency: want at least 0s, got -1ns`)
}

func TestAMemberThatRefusesAnObjectGetsTheOthers(t *testing.T) {
	hub, dev1 := memory.New(memory.Options{Kinds: rehearse.Kinds()}), memory.New(memory.Options{})
	require.NoError(t, hub.Load(t.Context(), []byte(strings.ReplaceAll(toDev, ", resources: [foundries]", "")+`---
{apiVersion: v1, kind: Secret, metadata: {name: key, namespace: iron}}
`+foundries)))
	secrets := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	ks, err := rehearse.NewKubeStellar(rehearse.KubeStellarOptions{Hub: hub, Workload: []schema.GroupVersionKind{foundryKind, secrets},
		Members: []rehearse.Member{{Name: "dev1", Labels: map[string]string{"env": "dev"}, Cluster: dev1}}})
	require.NoError(t, err)
	now := time.Now()
	require.ErrorContains(t, ks.Step(t.Context(), now), "cluster dev1: the server could not find the requested resource")
	_, err = dev1.Get(t.Context(), secrets, types.NamespacedName{Namespace: "iron", Name: "key"})
	require.NoError(t, err)
	require.NoError(t, dev1.Load(t.Context(), []byte(foundries)))
	require.NoError(t, ks.Step(t.Context(), now))
	require.Len(t, objects(t, dev1), 1, "as soon as it is possible")
}
