package staged_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A former is what the hub held of a rollout under way when the former version of this package wrote it.
type former struct {
	Status   v1alpha1.Status
	Policies map[string]*control.BindingPolicy
}

func readFormer(t *testing.T, file string) (f former) {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &f))
	require.NotEmpty(t, f.Status.OldPlacements)
	return f
}

// A rollout that was under way goes on where it was: no BindingPolicy is written or removed by that.
func TestAStatusOfTheFormerVersionGoesOn(t *testing.T) {
	text := policyText(stageText("dev", "dev"), stageText("prod", "prod", "soak: 1h"), stageText("end", "end", "maxConcurrency: 1")) + keep
	w := fleetOf(t, text, "dev/d", "prod/p1", "prod/p2", "end/e1", "end/e2")
	f := readFormer(t, "testdata/former-status.json")
	w.status, w.policies, w.now = f.Status, f.Policies, start.Add(30*time.Minute)
	before := map[string]string{}
	for name, p := range w.policies {
		before[name] = p.Annotations[v1alpha1.VersionAnnotation]
	}
	w.settle()
	require.Equal(t, "prod", w.status.ActiveStage)
	require.Equal(t, v1alpha1.Soaking, w.phase("prod"))
	require.Equal(t, v1alpha1.Succeeded, w.phase("dev"))
	require.Empty(t, w.status.OldPlacements)
	for name, p := range w.policies {
		require.Equal(t, before[name], p.Annotations[v1alpha1.VersionAnnotation], "%s is as it was", name)
	}
	w.pass(2 * time.Hour)
	w.settle()
	require.True(t, w.holds("Succeeded"), w.last.Message)
	require.Equal(t, []string{"d", "e1", "e2", "p1", "p2"}, w.served())
}

// Updates that were under way on the hub alone stall, with both ways out in the message; the clusters
// are untouched. With the space they go on: every cluster has its turn, and loses nothing.
func TestStagedUpdatesOfTheFormerVersion(t *testing.T) {
	text := policyText(stageText("dev", "dev"), stageText("prod", "prod")) + stagedUpdates
	f := readFormer(t, "testdata/former-status-staged.json")
	w := fleetOf(t, text, "dev/d", "prod/p")
	w.status, w.policies = f.Status, f.Policies
	d := w.settle()
	require.Empty(t, d.Ensure)
	require.Empty(t, d.Remove)
	require.Contains(t, d.Message, "requireEvidence: None")
	require.Contains(t, d.Message, "Let the player read the manifests and reports of the transport")
	require.True(t, w.holds("Stalled"))

	u := newUpdated(t, policyText(stageText("dev", "dev"), stageText("prod", "prod"))+keep, "dev/d", "prod/p")
	f = readFormer(t, "testdata/former-status-staged.json")
	u.status, u.policies, u.version = f.Status, f.Policies, "2"
	u.objects[0].ResourceVersion = "2"
	u.have, u.reported = map[string]string{"d": "2", "p": "1"}, map[string]string{"d": "2", "p": "1"}
	u.available["d"] = 0
	u.roll(4)
	u.checkAll(map[string]string{"d": "2", "p": "1"})
	u.available["d"] = 1
	u.roll(12)
	u.checkAll(map[string]string{"d": "2", "p": "2"})
	require.True(t, u.holds("Succeeded"), u.last.Message)
}
