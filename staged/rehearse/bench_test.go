package rehearse_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/staged/rehearse"
)

// BenchmarkRun rehearses 20 Deployments on 100 clusters. Each reports each object twice, at
// its own times.
func BenchmarkRun(b *testing.B) {
	in := policy(b, "    condition: num('sum') == destinations.size()")
	for i := range 19 {
		obj := in.Objects[0].DeepCopy()
		obj.SetName(fmt.Sprint("web-", i))
		in.Objects = append(in.Objects, obj)
	}
	in.Clusters = nil
	for i := range 100 {
		in.Clusters = append(in.Clusters, member(fmt.Sprint("c", i), []string{"dev", "prod"}[i%2], time.Duration(i)*time.Second))
	}
	for b.Loop() {
		timeline, err := rehearse.Run(b.Context(), in)
		require.NoError(b, err)
		require.True(b, timeline.Succeeded)
	}
}
