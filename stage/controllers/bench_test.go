package controllers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// fleet is a number of Deployments of ten replicas each.
func fleet(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "---%s", strings.NewReplacer("web", fmt.Sprintf("web-%04d", i), "replicas: 3", "replicas: 10").Replace(web))
	}
	return b.String()
}

// BenchmarkRollOver rolls 1,000 Deployments of 10 replicas out on 100 nodes, and over to another template.
func BenchmarkRollOver(b *testing.B) {
	const n = 1000
	b.ReportAllocs()
	for b.Loop() {
		l := newLab(b, setting{nodes: 100, pods: presets.PodGeneral})
		l.load(fleet(n))
		l.advance(5 * time.Minute)
		for i := range n {
			l.patch("Deployment", fmt.Sprintf("web-%04d", i), `{spec: {template: {spec: {containers: [{name: c, image: "i:2"}]}}}}`)
		}
		l.advance(30 * time.Minute)
		require.Empty(b, l.fails)
		require.Len(b, l.list("Pod", ""), 10*n)
		for i := range n {
			l.requireCurrent("Deployment", fmt.Sprintf("web-%04d", i))
		}
	}
}

// BenchmarkSchedule takes 20,000 Pods of 20 ReplicaSets through the scheduler and the general lifecycle on 1,000 nodes.
func BenchmarkSchedule(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		l := newLab(b, setting{nodes: 1000, pods: presets.PodGeneral, rest: 100 * time.Millisecond})
		for i := range 20 {
			l.load(fmt.Sprintf(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r%d}, spec: {replicas: 1000, selector: {matchLabels: {app: r%d}},
  template: {metadata: {labels: {app: r%d}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 10m}}}]}}}}`, i, i, i))
		}
		l.advance(5 * time.Minute)
		require.Empty(b, l.fails)
		for i := range 20 {
			l.requireCurrent("ReplicaSet", fmt.Sprint("r", i))
		}
	}
}

// BenchmarkOwners has the same number of Pods in few large ReplicaSets and in many small ones.
func BenchmarkOwners(b *testing.B) {
	const pods = 20_000
	for _, owners := range []int{20, 200, 1000} {
		b.Run(fmt.Sprint(owners), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l := newLab(b, setting{nodes: 200, pods: presets.PodGeneral})
				for i := range owners {
					l.load(fmt.Sprintf(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r%d}, spec: {replicas: %d, selector: {matchLabels: {app: r%d}},
  template: {metadata: {labels: {app: r%d}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 10m}}}]}}}}`, i, pods/owners, i, i))
				}
				l.advance(5 * time.Minute)
				require.Empty(b, l.fails)
				for i := range owners {
					l.requireCurrent("ReplicaSet", fmt.Sprint("r", i))
				}
			}
		})
	}
}

// BenchmarkLarge rolls 10 Deployments of 500 replicas out, and over to another template.
func BenchmarkLarge(b *testing.B) {
	const n = 10
	for b.Loop() {
		l := newLab(b, setting{nodes: 200, pods: presets.PodGeneral})
		l.load(strings.ReplaceAll(fleet(n), "replicas: 10", "replicas: 500"))
		l.advance(5 * time.Minute)
		for i := range n {
			l.patch("Deployment", fmt.Sprintf("web-%04d", i), `{spec: {template: {spec: {containers: [{name: c, image: "i:2"}]}}}}`)
		}
		l.advance(30 * time.Minute)
		require.Empty(b, l.fails)
		for i := range n {
			l.requireCurrent("Deployment", fmt.Sprintf("web-%04d", i))
		}
	}
}
