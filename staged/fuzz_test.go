package staged_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// FuzzCompile: never a panic, and every fault says where it is.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{faulty, nginx, twoStages("    windows: [{cron: '*/7 1-5 * jan,dec mon', duration: 1h, timeZone: Asia/Kolkata}]\n"), "a: [", "{}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		policies, err := staged.Compile(staged.Options{}, staged.Parse("f", []byte(text)))
		if err == nil {
			for _, p := range policies {
				bindingpolicy.Decide(p, v1alpha1.Status{}, bindingpolicy.Observation{}, start)
			}
			return
		}
		faults, ok := err.(staged.Errors)
		require.True(t, ok)
		for _, e := range faults {
			require.Equal(t, "f", e.Position.File, e.Error())
		}
	})
}

// FuzzDecide: for any stored status and observation there is no panic, the same decision follows
// twice, the arguments do not change, and a decision that was carried out leaves nothing to do.
func FuzzDecide(f *testing.F) {
	f.Add(`{"activeStage": "dev"}`, `{}`, int64(0))
	f.Add(`{"activeStage": "prod", "stages": [{"name": "prod", "phase": "RolledBack", "startedBatches": 7, "batches": [{"clusters": ["a"]}]}]}`, `{"Clusters": {"a": {"env": "dev"}}}`, int64(100))
	f.Add(`{"activeStage": "dev", "stages": [{"name": "dev", "startedBatches": -3, "startedAt": "2026-01-01T00:00:00Z"}]}`,
		`{"BindingPolicies": [{"metadata": {"name": "s.stage.dev", "uid": "u", "ownerReferences": [{"kind": "StagedBindingPolicy", "name": "s"}]}}], "Bindings": [{"metadata": {"name": "s.stage.dev", "ownerReferences": [{"uid": "u"}]}}]}`, int64(1e18))
	f.Add(`{"activeStage": "prod", "stages": [{"name": "dev", "phase": "Succeeded", "startedBatches": 7, "batches": [{"clusters": ["a"]}]}]}`, `{}`, int64(100))
	f.Add(`{"activeStage": "dev", "stages": [{"name": "dev", "startedBatches": 7, "batches": [{"clusters": ["a"]}, {}]}]}`, `{}`, int64(100))
	var policies []*staged.Policy
	for _, text := range append(rolloutPolicies, twoStages("    maxConcurrency: 1\n")+"  retention: Keep\n") {
		policies = append(policies, compile(f, text))
	}
	f.Fuzz(func(t *testing.T, statusText, seenText string, seconds int64) {
		var status v1alpha1.Status
		var seen bindingpolicy.Observation
		if json.Unmarshal([]byte(statusText), &status) != nil || json.Unmarshal([]byte(seenText), &seen) != nil {
			return
		}
		now := time.Unix(seconds%1e11, 0).UTC()
		for _, p := range policies {
			before, err := json.Marshal([]any{status, seen})
			require.NoError(t, err)
			d := bindingpolicy.Decide(p, status, seen, now)
			bindingpolicy.Explain(p, status, seen, now)
			require.True(t, reflect.DeepEqual(d, bindingpolicy.Decide(p, status, seen, now)), "the same answer twice")
			after, err := json.Marshal([]any{status, seen})
			require.NoError(t, err)
			require.Equal(t, string(before), string(after), "arguments are only read")
			again := bindingpolicy.Decide(p, d.Status, seen, now)
			require.Equal(t, d.Status, again.Status)
			require.Equal(t, d.Ensure, again.Ensure)
		}
	})
}
