package rehearse_test

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/rehearse"
)

const shop = `apiVersion: community.kubestellar.io/v1alpha1
kind: StagedBindingPolicy
metadata: {name: shop}
spec:
  downsync: [{statusCollectors: [ready], objectSelectors: [{matchLabels: {app: shop}}]}]
  stages:
  - {name: dev, clusterSelectors: [{matchLabels: {env: dev}}], condition: num('sum') >= 2, soak: 10m}
  - {name: prod, clusterSelectors: [{matchLabels: {env: prod}}]}
`

// A unit test of a policy.
func ExampleRun() {
	replicas := "returned.status.availableReplicas"
	ready := control.StatusCollector{Spec: control.StatusCollectorSpec{CombinedFields: []control.NamedAggregator{{Name: "sum", Type: "SUM", Subject: &replicas}}}}
	ready.Name = "ready"
	app := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "shop", "namespace": "shop", "labels": map[string]any{"app": "shop"}}}}
	script := []rehearse.Status{{After: time.Minute, Status: map[string]any{"availableReplicas": 2}}}
	timeline, err := rehearse.Run(context.Background(), rehearse.Input{
		Policy:     staged.Parse("shop.yaml", []byte(shop)).Policies()[0],
		Collectors: []control.StatusCollector{ready},
		Objects:    []*unstructured.Unstructured{app},
		Clusters: []rehearse.Cluster{
			{Name: "dev1", Labels: map[string]string{"env": "dev"}, Script: script},
			{Name: "prod1", Labels: map[string]string{"env": "prod"}, Script: script},
		},
	})
	fmt.Println(timeline, err)
	// Output:
	// +0s        StageStarted: stage "dev"
	// +0s        BindingPolicy shop.stage.dev: created
	// +0s        cluster dev1: deployments.apps shop/shop arrives
	// +1m0s      stage dev: satisfied
	// +11m0s     stage dev: succeeded
	// +11m0s     StageStarted: stage "prod"
	// +11m0s     BindingPolicy shop.stage.prod: created
	// +11m0s     cluster prod1: deployments.apps shop/shop arrives
	// +11m0s     stage prod: succeeded
	// +11m0s     Succeeded: stage "prod" is the last
	// +11m0s     BindingPolicy shop.stage.dev: removed
	// +11m0s     cluster dev1: deployments.apps shop/shop is gone
	//  <nil>
}

// KubeStellar by hand: a BindingPolicy, what its cluster reports, and the CombinedStatus.
func ExampleKubeStellar() {
	ctx, now := context.Background(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	hub, dev1 := memory.New(memory.Options{Kinds: rehearse.Kinds()}), memory.New(memory.Options{})
	err := hub.Load(ctx, []byte(`
apiVersion: control.kubestellar.io/v1alpha1
kind: StatusCollector
metadata: {name: ready}
spec: {combinedFields: [{name: sum, type: SUM, subject: returned.status.availableReplicas}]}
---
apiVersion: control.kubestellar.io/v1alpha1
kind: BindingPolicy
metadata: {name: shop}
spec:
  clusterSelectors: [{matchLabels: {env: dev}}]
  downsync: [{resources: [deployments], statusCollectors: [ready]}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	deployments := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	ks, err := rehearse.NewKubeStellar(rehearse.KubeStellarOptions{
		Hub: hub, Workload: []schema.GroupVersionKind{deployments},
		Members: []rehearse.Member{{Name: "dev1", Labels: map[string]string{"env": "dev"}, Cluster: dev1}},
	})
	fmt.Println(err, ks.Step(ctx, now))

	status := []byte(`{"status": {"availableReplicas": 3}}`) // what a controller in dev1 would write
	_, err = dev1.Patch(ctx, deployments, types.NamespacedName{Namespace: "shop", Name: "web"}, types.MergePatchType, status, metav1.PatchOptions{}, "status")
	fmt.Println(err, ks.Step(ctx, now.Add(time.Second)))

	combined := schema.GroupVersionKind{Group: control.Group, Version: control.Version, Kind: "CombinedStatus"}
	list, err := hub.List(ctx, combined, "shop", metav1.ListOptions{})
	fmt.Println(list.Items[0].Object["results"], err)
	// Output:
	// <nil> <nil>
	// <nil> <nil>
	// [map[columnNames:[sum] name:ready rows:[map[columns:[map[float:3 type:Number]]]]]] <nil>
}
