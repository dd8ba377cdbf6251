package rehearse_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/staged/rehearse"
)

// second adds another dev cluster, which is slower than the first.
func second(in *rehearse.Input) {
	in.Clusters = append(in.Clusters, member("dev2", "dev", 9*time.Second))
}

// silent adds one that never reports.
func silent(in *rehearse.Input) {
	second(in)
	in.Clusters[2].Silent = true
}

// TestLints has, for each lint, a policy that it warns of, and one that is nearly so and that it
// does not warn of.
func TestLints(t *testing.T) {
	const (
		is1, is2 = "    condition: num('sum') == 1", "    condition: num('sum') == 2"
		loose    = "\n    guards: {allowStale: true, allowErrors: true}"
	)
	for _, tc := range []struct {
		name, fields string
		change       func(*rehearse.Input)
		want         string // "" is no lint
	}{
		{"true in passing", is1, second, "stage dev: the condition is true only in passing, from +6s to +10s after the stage is started: num('sum') == 1"},
		{"true from some time on", is2, second, ""},
		{"true in passing, and again at the end", is1, func(in *rehearse.Input) {
			in.Clusters[0].Script = append(in.Clusters[0].Script,
				rehearse.Status{After: 6 * time.Second, Status: map[string]any{"availableReplicas": 0}},
				rehearse.Status{After: 8 * time.Second, Status: map[string]any{"availableReplicas": 1}})
		}, ""},

		{"no cluster", is1, func(in *rehearse.Input) { in.Clusters = in.Clusters[1:] }, "stage dev: its selectors match no cluster"},
		{"no cluster, skipped", is1 + "\n    skipIfEmpty: true", func(in *rehearse.Input) { in.Clusters = in.Clusters[1:] }, "stage dev: its selectors match no cluster, so it is skipped"},
		{"no cluster, let pass", is1 + "\n    guards: {minDestinations: 0, allowEmpty: true}", func(in *rehearse.Input) { in.Clusters = in.Clusters[1:] },
			"stage dev: its selectors match no cluster, and its guards let that pass"},
		{"one cluster is enough", is1 + "\n    skipIfEmpty: true", nil, ""},

		{"says nothing", "    condition: 'true'", nil, "stage dev: the condition is true before any cluster has reported, so it says nothing: true"},
		{"says little", "    condition: reported >= 1", nil, ""},
		{"no object", is1 + "\n    filter: downsyncClause.resource == 'deployment'\n    guards: {allowEmpty: true}", nil, "stage dev: it is satisfied without any object to look at, as its guards allow"},
		{"an object, although none is asked for", is1 + "\n    filter: downsyncClause.resource == 'deployments'\n    guards: {allowEmpty: true}", nil, ""},

		{"never true", "    condition: num('sum') == 5", nil, `stuck: nothing that happens in this rehearsal lets it go on: stage "dev": deployments.apps shop/web in dev1: num("sum") is 1, want 5`},
		{"true after a long time", is1 + "\n    soak: 23h", nil, ""},
		{"true after too long a time", is1 + "\n    soak: 25h", nil, `not over after 24h0m0s; the next thing would happen at +25h0m6s: stage "dev": `},
		{"approved by nobody", is1 + "\n    approval: {after: true}", nil, "stuck: nothing that happens in this rehearsal lets it go on: stage \"dev\": waits for the annotation"},
		{"approved", is1 + "\n    approval: {after: true}", func(in *rehearse.Input) { in.Approvals = map[string]time.Duration{"after.dev": time.Hour} }, ""},
		{"approved, but not asked for", is2, func(in *rehearse.Input) { second(in); in.Approvals = map[string]time.Duration{"after.dev": time.Hour} },
			"stage dev: the approval after.dev has no effect: the rollout has not asked for it"},

		{"satisfied by stale status", "    condition: cell('agg', 'sum') == 1" + loose, silent, "stage dev: it is satisfied at +6s although not every cluster has reported without errors, as its guards allow"},
		{"stale status allowed, but fresh", is2 + loose, second, ""},
		{"stale status, which only the guards refuse", "    condition: cell('agg', 'sum') == 1", silent, "stage dev: the condition is true at +6s, before every cluster has reported without errors; only the guards wait"},

		{"no condition before the last stage", "", nil, "spec.stages[0].condition: missing before the last stage: the rollout stops here"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := policy(t, tc.fields)
			if tc.change != nil {
				tc.change(&in)
			}
			timeline := run(t, in)
			if tc.want == "" {
				require.Empty(t, timeline.Lints)
				require.True(t, timeline.Succeeded)
				return
			}
			require.Contains(t, timeline.String(), "\nlint: "+tc.want)
		})
	}
}
