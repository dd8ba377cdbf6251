package staged_test

import (
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// rolloutPolicies are policies whose rollouts must come to the same end, however often they are
// interrupted.
var rolloutPolicies = []string{
	twoStages(""),
	twoStages("    soak: 5s\n") + "  retention: Keep\n",
	twoStages(fields("maxConcurrency: 1", "guards: {allowErrors: true}")) + fields("condition: num('sum') == 2", "soak: 3s"),
	twoStages("") + fields("skipIfEmpty: true", "condition: num('sum') == 2", "progressDeadlineSeconds: 1") + endStage,
}

// end is what the world looks like at the end, without times and uids.
type end struct {
	active   string
	policies []string
	phases   []v1alpha1.Phase
	done     bool
}

func (w *world) end() end {
	e := end{active: w.status.ActiveStage, policies: w.exist(), done: w.holds("Succeeded")}
	for _, s := range w.status.Stages {
		e.phases = append(e.phases, s.Phase)
	}
	return e
}

// finish lets everything become as it should be, and then enough time pass.
func (w *world) finish() end {
	w.available = map[string]int64{"dev1": 1, "prod1": 1, "prod2": 1}
	for range 6 {
		w.settle()
		w.sleep(10 * time.Second)
		for _, s := range w.status.Stages {
			if s.Phase == v1alpha1.Failed {
				w.retry(s.Name)
			}
		}
	}
	return w.end()
}

// A controller that is interrupted between any two writes, at any decision, and starts again from
// what is stored, comes to the same end.
func TestRestartAtAnyPointComesToTheSameEnd(t *testing.T) {
	for _, text := range rolloutPolicies {
		policy := compile(t, text)
		want := worldOf(t, policy).finish()
		for cut := range 12 {
			for steps := range 4 {
				w := worldOf(t, policy)
				w.available = map[string]int64{"dev1": 1, "prod1": 1, "prod2": 1}
				for i := range cut + 1 {
					if i < cut {
						w.decide()
					} else {
						w.decide(steps)
					}
					w.sleep(time.Second)
				}
				require.Equal(t, want, w.finish(), "cut %d, steps %d", cut, steps)
			}
		}
	}
}

// Observations that are late, repeated or lost, statuses that come and go, and writes that fail:
// the rollout still comes to the same end, and there is always a BindingPolicy.
func TestAnyOrderOfEventsConverges(t *testing.T) {
	runs := uint64(effort.Of(2000))
	if testing.Short() {
		runs = 300
	}
	for _, text := range rolloutPolicies {
		policy := compile(t, text)
		want := worldOf(t, policy).finish()
		for seed := range runs / uint64(len(rolloutPolicies)) {
			w := worldOf(t, policy)
			w.randomSteps(rand.New(rand.NewPCG(seed, 1)))
			require.Equal(t, want, w.finish(), "seed %d", seed)
		}
	}
}

// randomSteps decides on old observations, carries out a part, and lets clusters do what they like.
func (w *world) randomSteps(r *rand.Rand) {
	clusters := []string{"dev1", "prod1", "prod2"}
	seen := []bindingpolicy.Observation{w.observe()}
	for range 12 {
		switch r.IntN(4) {
		case 0:
			w.available = maps.Clone(w.available)
			w.available[clusters[r.IntN(3)]] = int64(r.IntN(3))
		case 1:
			w.sleep(time.Duration(r.IntN(4000)) * time.Millisecond)
		case 2:
			seen = append(seen, w.observe())
		default:
			old := seen[max(0, len(seen)-1-r.IntN(3))]
			d := bindingpolicy.Decide(w.policy, w.status, old, w.now)
			actions := w.actions(d)
			for _, do := range actions[:r.IntN(len(actions)+1)] {
				had := len(w.policies)
				do()
				require.False(w.t, had > 0 && len(w.policies) == 0, "there is always a policy")
			}
		}
	}
}
