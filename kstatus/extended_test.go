package kstatus_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/txtar"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

func TestExtended(t *testing.T) { runCases(t, "extended", kstatus.Extended()) }

// Progressing is over if the last word of its reason says so, unless a word before it takes that back.
func TestTheReasonOfProgressing(t *testing.T) {
	for reason, want := range map[string]kstatus.Status{
		"NewReplicaSetAvailable": kstatus.Current, "NewReplicationControllerAvailable": kstatus.Current,
		"AllPodsReady": kstatus.Current, "RolloutComplete": kstatus.Current, "ProvisioningCompleted": kstatus.Current,
		"MonitoringReady": kstatus.Current, "OSDsRunning": kstatus.Current,

		"ResourceNotReady": kstatus.InProgress, "PodsNotReady": kstatus.InProgress, "PodsNotYetReady": kstatus.InProgress,
		"NotAllPodsReady": kstatus.InProgress, "NoPodsReady": kstatus.InProgress, "PartiallyAvailable": kstatus.InProgress,
		"DeploymentNotAvailable": kstatus.InProgress, "UpgradeNotComplete": kstatus.InProgress,
		"WaitingForPodsReady": kstatus.InProgress, "AwaitingReady": kstatus.InProgress, "WaitForRolloutComplete": kstatus.InProgress,
		"WaitingForUpgradeComplete": kstatus.InProgress, "PodsPendingUntilReady": kstatus.InProgress,
		"UpdatingPodsAvailable": kstatus.InProgress, "PodsNotRunning": kstatus.InProgress, "AwaitingPodsRunning": kstatus.InProgress,
	} {
		obj := parse(t, `{apiVersion: example.com/v1, kind: Widget, status: {conditions: [
  {type: Available, status: "True", reason: AsExpected}, {type: Progressing, status: "True", reason: `+reason+`}]}}`)
		require.Equal(t, want, kstatus.Extended().Compute(obj, now).Status, reason)
	}
}

// Available=True and Degraded=False stand for the whole object, as Ready=True does: parts of it that
// are not there, or that have failed, do not count. That needs both, and Ready decides where it is.
func TestAvailableAndNotDegradedOverruleParts(t *testing.T) {
	const both = `{type: Available, status: "True"}, {type: Degraded, status: "False"}, `
	const part = `{type: CacheAvailable, status: "False", reason: Forbidden}`
	for conditions, want := range map[string]kstatus.Status{
		both + part: kstatus.Current,
		part + `, {type: Degraded, status: "False"}, {type: Available, status: "True"}`:                        kstatus.Current,
		`{type: Available, status: "True"}, ` + part:                                                           kstatus.Failed,
		`{type: Degraded, status: "False"}, ` + part:                                                           kstatus.Failed,
		`{type: Available, status: "False"}, {type: Degraded, status: "False"}, ` + part:                       kstatus.Failed,
		`{type: Available, status: "True"}, {type: Degraded, status: Unknown}, ` + part:                        kstatus.Failed,
		`{type: Available, status: "True"}, {type: Degraded, status: "True"}, ` + part:                         kstatus.Failed,
		both + `{type: Available, status: "False"}`:                                                            kstatus.InProgress,
		both + part + `, {type: Ready, status: "False"}`:                                                       kstatus.Failed,
		`{type: Available, status: "True", observedGeneration: 1}, {type: Degraded, status: "False"}, ` + part: kstatus.Failed,
		`{type: Available, status: "True", reason: Progressing}, {type: Degraded, status: "False"}, ` + part:   kstatus.Failed,
		both + `{type: Progressing, status: "True", reason: Rolling}, ` + part:                                 kstatus.InProgress,
		both + `{type: StorageDegraded, status: "True", reason: Broken}`:                                       kstatus.Failed,
		`{type: Available, status: "True"}, {type: Degraded, status: "False", observedGeneration: 1}, ` + part: kstatus.Failed,
	} {
		obj := parse(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {generation: 2}, status: {conditions: [`+conditions+`]}}`)
		require.Equal(t, want, kstatus.Extended().Compute(obj, now).Status, conditions)
	}
}

// TestExtendedAllocatesNothing measures what is usual: objects that are as they should be.
// Conditions in an annotation have to be decoded, and the path of a phase in a map has to be joined.
func TestExtendedAllocatesNothing(t *testing.T) {
	for _, file := range caseFiles(t, "extended") {
		archive, err := txtar.ParseFile(file)
		require.NoError(t, err)
		for _, c := range archive.Files {
			obj := parse(t, string(c.Data))
			r := kstatus.Extended().Compute(obj, now)
			if r.Status == kstatus.Current && strings.Count(r.Field(), ".") < 2 && c.Name != "version one hides its conditions" {
				require.Zero(t, testing.AllocsPerRun(10, func() { kstatus.Extended().Compute(obj, now) }), c.Name)
			}
		}
	}
}

// FuzzExtended begins with an object of each kind that has rules, and holds what is true of all of
// them: one verdict an object, whatever the order of its maps, that an explanation shares, and none
// but Terminating for what is being deleted.
func FuzzExtended(f *testing.F) {
	files, err := filepath.Glob("testdata/extended/*.txtar")
	require.NoError(f, err)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		require.NoError(f, err)
		for _, c := range archive.Files {
			data, err := json.Marshal(parse(f, string(c.Data)).Object)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, obj := range decodings(data) {
			for _, rules := range []*kstatus.Rules{kstatus.Extended(), kstatus.Extended().Generic()} {
				r := rules.Compute(obj, now)
				for range 5 {
					require.Equal(t, r, rules.Compute(obj.DeepCopy(), now))
				}
				require.Equal(t, r, rules.Explain(obj, now).Result)
				require.False(t, r.Terminal && r.Status != kstatus.Failed || r.Suspended && r.Status != kstatus.Current, r.String())
			}
			if _, ok := obj.Object["metadata"].(map[string]any); ok {
				obj.Object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
				require.Equal(t, kstatus.Terminating, kstatus.Extended().Compute(obj, now).Status)
			}
		}
	})
}

func BenchmarkExtended(b *testing.B) {
	for name, obj := range measured(b) {
		b.Run(name, func(b *testing.B) {
			rules := kstatus.Extended()
			b.ReportAllocs()
			for b.Loop() {
				rules.Compute(obj, now)
			}
		})
	}
}
