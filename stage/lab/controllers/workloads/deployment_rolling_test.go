package workloads_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// strategy is the strategy of a Deployment in a test, as text and as values.
type strategy struct {
	replicas, surge, unavailable int
	text                         string
}

func randomStrategy(r *rand.Rand) strategy {
	s := strategy{replicas: 1 + r.IntN(15)}
	var surge, unavailable string
	if r.IntN(2) == 0 {
		p := r.IntN(101)
		s.surge, surge = (p*s.replicas+99)/100, fmt.Sprintf("%q", fmt.Sprint(p, "%"))
	} else {
		s.surge = r.IntN(6)
		surge = fmt.Sprint(s.surge)
	}
	if r.IntN(2) == 0 {
		p := r.IntN(101)
		s.unavailable, unavailable = p*s.replicas/100, fmt.Sprintf("%q", fmt.Sprint(p, "%"))
	} else {
		s.unavailable = r.IntN(6)
		unavailable = fmt.Sprint(s.unavailable)
	}
	if s.surge == 0 && s.unavailable == 0 {
		s.unavailable = 1
	}
	s.text = fmt.Sprintf(`{spec: {replicas: %d, strategy: {rollingUpdate: {maxSurge: %s, maxUnavailable: %s}}}}`, s.replicas, surge, unavailable)
	return s
}

// TestRollingKeepsItsPromises rolls Deployments over at random, a second time before the first is
// through, and looks at the Pods whenever something has happened.
func TestRollingKeepsItsPromises(t *testing.T) {
	for seed := range uint64(effort.Of(60)) {
		r := rand.New(rand.NewPCG(seed, 0))
		s := randomStrategy(r)
		c := clustertest.New(t, clustertest.Options{Nodes: 4, Pods: presets.PodGeneral, Seed: seed})
		c.Load(clustertest.Manifest("deployment"))
		c.Patch("Deployment", "web", s.text)
		c.Advance(2 * time.Minute)
		c.RequireCurrent("Deployment", "web")

		watch := func(d time.Duration) {
			c.EachStep(d, func() {
				all, ready := c.CountPods()
				require.LessOrEqual(t, all, s.replicas+s.surge, "seed %d: %s", seed, s.text)
				require.GreaterOrEqual(t, ready, s.replicas-s.unavailable, "seed %d: %s", seed, s.text)
			})
		}
		c.Patch("Deployment", "web", `{spec: {template: {spec: {containers: [{name: c, image: "i:2"}]}}}}`)
		watch(time.Duration(r.IntN(30)) * time.Second)
		c.Patch("Deployment", "web", `{spec: {template: {spec: {containers: [{name: c, image: "i:3"}]}}}}`)
		watch(30 * time.Minute)
		c.RequireCurrent("Deployment", "web")
		for _, image := range c.Images("app=web") {
			require.Equal(t, "i:3", image)
		}
		require.Empty(t, c.Errors)
	}
}
