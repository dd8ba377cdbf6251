package words_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/kstatus/internal/words"
)

func TestOfPhrase(t *testing.T) {
	for phrase, want := range map[string]words.Meaning{
		"":                         words.None,
		"ImagePullBackOff":         words.Bad,
		"OutOfSync":                words.Busy,
		"unscheduled":              words.Busy,
		"Unfailed":                 words.None,
		"CrashLoopBackoff":         words.Bad,
		"READY":                    words.Good,
		"NotReady":                 words.Busy,
		"not an error":             words.Bad, // "not" negates the next word alone
		"NoError":                  words.None,
		"Provisioning":             words.Busy,
		"HTTPRouteAccepted":        words.Accepted,
		"rollout-paused":           words.Paused,
		"InvalidSpec":              words.Fatal,
		"Installing, then failed":  words.Bad,
		"aVeryLongWordOfManyParts": words.None,
	} {
		require.Equal(t, want, words.OfPhrase(phrase), phrase)
	}
	for phrase, want := range map[string]words.Meaning{
		"NewReplicaSetAvailable": words.Good, "UpdateComplete": words.Done, "ProvisioningComplete": words.Done, "NotReady": words.None,
		"PodsNotYetReady": words.None, "WaitingForUpgradeComplete": words.None, "UpdatingPodsReady": words.None, "Running": words.Running,
		"Waiting": words.Busy, "": words.None, "pods not ready": words.None, "updating pods ready": words.None, "Ready, not": words.Not,
	} {
		require.Equal(t, want, words.OfOutcome(phrase), phrase)
	}
	require.Zero(t, testing.AllocsPerRun(10, func() { words.OfPhrase("the Deployment is NotReady: ProgressDeadlineExceeded") }))
}

func TestNamesOfFieldsAndKinds(t *testing.T) {
	require.True(t, words.IsPhaseField("deploymentStatus"))
	require.False(t, words.IsPhaseField("desiredState"))
	require.True(t, words.RunsToEnd("PipelineRun"))
	require.False(t, words.RunsToEnd("CronJob"))
	require.True(t, words.IsOne("Failed"))
	require.False(t, words.IsOne("Failed again"))
}
