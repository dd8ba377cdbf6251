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
