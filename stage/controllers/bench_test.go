package controllers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// BenchmarkRollOver rolls 1,000 Deployments of 10 replicas out on 100 nodes, and over to another
// template.
func BenchmarkRollOver(b *testing.B) {
	const n = 1000
	b.ReportAllocs()
	for b.Loop() {
		c := clustertest.New(b, clustertest.Options{Nodes: 100, Pods: presets.PodGeneral})
		c.Load(clustertest.Fleet(n))
		c.Advance(5 * time.Minute)
		for i := range n {
			c.Patch("Deployment", fmt.Sprintf("web-%04d", i), `{spec: {template: {spec: {containers: [{name: c, image: "i:2"}]}}}}`)
		}
		c.Advance(30 * time.Minute)
		require.Empty(b, c.Errors)
		require.Len(b, c.List("Pod", ""), 10*n)
		for i := range n {
			c.RequireCurrent("Deployment", fmt.Sprintf("web-%04d", i))
		}
	}
}

// BenchmarkSchedule takes 20,000 Pods of 20 ReplicaSets through the scheduler and the general
// lifecycle on 1,000 nodes.
func BenchmarkSchedule(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		c := clustertest.New(b, clustertest.Options{Nodes: 1000, Pods: presets.PodGeneral, MinInterval: 100 * time.Millisecond})
		for i := range 20 {
			c.Load(fmt.Sprintf(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r%d}, spec: {replicas: 1000, selector: {matchLabels: {app: r%d}},
  template: {metadata: {labels: {app: r%d}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 10m}}}]}}}}`, i, i, i))
		}
		c.Advance(5 * time.Minute)
		require.Empty(b, c.Errors)
		for i := range 20 {
			c.RequireCurrent("ReplicaSet", fmt.Sprint("r", i))
		}
	}
}

// BenchmarkOwners has the same number of Pods in few large ReplicaSets and in many
// clustertest.SmallPod ones.
func BenchmarkOwners(b *testing.B) {
	const pods = 20_000
	for _, owners := range []int{20, 200, 1000} {
		b.Run(fmt.Sprint(owners), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c := clustertest.New(b, clustertest.Options{Nodes: 200, Pods: presets.PodGeneral})
				for i := range owners {
					c.Load(fmt.Sprintf(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r%d}, spec: {replicas: %d, selector: {matchLabels: {app: r%d}},
  template: {metadata: {labels: {app: r%d}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 10m}}}]}}}}`, i, pods/owners, i, i))
				}
				c.Advance(5 * time.Minute)
				require.Empty(b, c.Errors)
				for i := range owners {
					c.RequireCurrent("ReplicaSet", fmt.Sprint("r", i))
				}
			}
		})
	}
}

// BenchmarkLarge rolls 10 Deployments of 500 replicas out, and over to another template.
func BenchmarkLarge(b *testing.B) {
	const n = 10
	for b.Loop() {
		c := clustertest.New(b, clustertest.Options{Nodes: 200, Pods: presets.PodGeneral})
		c.Load(strings.ReplaceAll(clustertest.Fleet(n), "replicas: 10", "replicas: 500"))
		c.Advance(5 * time.Minute)
		for i := range n {
			c.Patch("Deployment", fmt.Sprintf("web-%04d", i), `{spec: {template: {spec: {containers: [{name: c, image: "i:2"}]}}}}`)
		}
		c.Advance(30 * time.Minute)
		require.Empty(b, c.Errors)
		for i := range n {
			c.RequireCurrent("Deployment", fmt.Sprintf("web-%04d", i))
		}
	}
}
