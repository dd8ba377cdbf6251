package staged_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A generator draws policies with any gates, statuses that a person might have written, and what
// clusters do.
type generator struct{ *rand.Rand }

func oneOf[T any](g generator, all ...T) T { return all[g.IntN(len(all))] }

var gates = []string{
	"soak: 5s", "maxConcurrency: 1", "maxConcurrency: 50%", "skipIfEmpty: true", "approval: {before: true}", "approval: {after: true}", "paused: true",
	"progressDeadlineSeconds: 3", "onFailure: Rollback", "onFailure: Continue", "failureCondition: num('sum') > 1", "maxSilent: 1",
	"guards: {allowStale: true, allowErrors: true}", "guards: {minDestinations: 0, allowEmpty: true}", "guards: {minDestinations: 2}",
	"windows: [{cron: '*/5 * * * *', duration: 60s}]", "filter: downsyncClause.name == 'web'",
}

var conditions = []string{"num('sum') == 1", "since > duration('3s') && num('sum') >= 1", "reported > 0", "'true'"}

func (g generator) policy() string {
	var b strings.Builder
	b.WriteString(policyHead + "  stages:\n")
	for i := range 1 + g.IntN(4) {
		fmt.Fprintf(&b, "  - name: %c\n    clusterSelectors: [{matchLabels: {env: %s}}]\n", 'a'+i, oneOf(g, "dev", "prod", "none"))
		if g.IntN(4) > 0 {
			b.WriteString("    condition: " + oneOf(g, conditions...) + "\n")
		}
		var drawn []string
		for range g.IntN(5) {
			gate := oneOf(g, gates...)
			if key, _, _ := strings.Cut(gate, ":"); !slices.Contains(drawn, key) {
				drawn = append(drawn, key)
				b.WriteString("    " + gate + "\n")
			}
		}
	}
	return b.String() + oneOf(g, "", "  retention: Keep\n") + oneOf(g, "", "  onChange: Restart\n")
}

func (g generator) status() v1alpha1.Status {
	s := v1alpha1.Status{ActiveStage: oneOf(g, "", "a", "b", "c", "d", "z"), ObservedGeneration: int64(g.IntN(3)), Plan: oneOf(g, "", "x")}
	for i := range g.IntN(5) {
		rec := v1alpha1.StageStatus{
			Name: string(rune('a' + i)), StartedAt: g.time(), SatisfiedSince: g.time(), CompletedAt: g.time(), StartedBatches: int32(g.IntN(6) - 2),
			Phase: oneOf(g, "", v1alpha1.Pending, v1alpha1.Progressing, v1alpha1.Soaking, v1alpha1.Succeeded, v1alpha1.Skipped, v1alpha1.Failed, v1alpha1.RolledBack, "Odd"),
		}
		for range g.IntN(3) {
			rec.Batches = append(rec.Batches, v1alpha1.Batch{Clusters: []string{"dev1", "prod1", "gone"}[g.IntN(3):]})
		}
		s.Stages = append(s.Stages, rec)
	}
	return s
}

func (g generator) time() *metav1.Time {
	return oneOf(g, nil, &metav1.Time{Time: start.Add(time.Duration(g.IntN(40)-30) * time.Second)})
}

// For any policy and any stored status there is no panic, the same decision follows twice, and once
// a BindingPolicy exists there is always one: world.decide checks that.
func TestAnyPolicyIsDecidedFromAnyStatus(t *testing.T) {
	runs := uint64(effort.Of(3000))
	if testing.Short() {
		runs = 300
	}
	for seed := range runs {
		g := generator{rand.New(rand.NewPCG(seed, 2))}
		text := g.policy()
		w := newWorld(t, text)
		w.status = g.status()
		if g.IntN(2) == 0 {
			w.boundAt = start
		}
		for range 6 {
			for _, cluster := range slices.Sorted(maps.Keys(w.clusters)) {
				w.available[cluster], w.returned[cluster] = int64(g.IntN(3)), w.now.Add(time.Duration(g.IntN(3)-1)*time.Second)
			}
			blind := w.observe()
			blind.Clusters = nil
			d := bindingpolicy.Decide(w.policy, w.status, blind, w.now)
			require.Equal(t, d.Status, bindingpolicy.Decide(w.policy, d.Status, blind, w.now).Status, "seed %d, clusters unknown:\n%s", seed, text)
			bindingpolicy.Explain(w.policy, w.status, blind, w.now)
			w.decide()
			w.sleep(time.Duration(g.IntN(5)) * time.Second)
		}
	}
}
