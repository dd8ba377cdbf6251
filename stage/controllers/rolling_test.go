package controllers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// strategy is how a Deployment of a test is rolled, as written and as it is meant.
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

// census counts the Pods that are not on their way out, and those of them that are ready.
func (l *lab) census() (all, ready int) {
	found, err := l.sim.Cluster().Shared().List(context.Background(), kinds["Pod"], "default", metav1.ListOptions{})
	require.NoError(l.t, err)
	for _, p := range found.Items {
		if p.GetDeletionTimestamp() != nil {
			continue
		}
		all++
		conditions, _, _ := unstructured.NestedFieldNoCopy(p.Object, "status", "conditions")
		list, _ := conditions.([]any)
		for _, c := range list {
			if c, _ := c.(map[string]any); c["type"] == "Ready" && c["status"] == "True" {
				ready++
			}
		}
	}
	return all, ready
}

// steps has a look after everything that happens at one time, for a while.
func (l *lab) steps(d time.Duration, look func()) {
	end := l.sim.Now().Add(d)
	for at, ok := l.sim.Next(); ok && !at.After(end); at, ok = l.sim.Next() {
		_, err := l.sim.Step(context.Background())
		require.NoError(l.t, err)
		look()
	}
	l.advance(end.Sub(l.sim.Now()))
}

// TestRollingKeepsItsPromises rolls Deployments over at random, a second time before the first is through, and looks at the Pods whenever something has happened.
func TestRollingKeepsItsPromises(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		s := randomStrategy(r)
		l := newLab(t, setting{nodes: 4, pods: presets.PodGeneral, seed: seed})
		l.load(web)
		l.patch("Deployment", "web", s.text)
		l.advance(2 * time.Minute)
		l.requireCurrent("Deployment", "web")

		watch := func(d time.Duration) {
			l.steps(d, func() {
				all, ready := l.census()
				require.LessOrEqual(t, all, s.replicas+s.surge, "seed %d: %s", seed, s.text)
				require.GreaterOrEqual(t, ready, s.replicas-s.unavailable, "seed %d: %s", seed, s.text)
			})
		}
		l.patch("Deployment", "web", `{spec: {template: {spec: {containers: [{name: c, image: "i:2"}]}}}}`)
		watch(time.Duration(r.IntN(30)) * time.Second)
		l.patch("Deployment", "web", `{spec: {template: {spec: {containers: [{name: c, image: "i:3"}]}}}}`)
		watch(30 * time.Minute)
		l.requireCurrent("Deployment", "web")
		for _, image := range l.images("app=web") {
			require.Equal(t, "i:3", image)
		}
		require.Empty(t, l.fails)
	}
}
