package lease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/kube/internal/lease"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestTermsAreWrittenAsKubernetesDoes(t *testing.T) {
	term := lease.Term{Holder: "a", Duration: 40 * time.Second}
	first := term.Acquired(lease.New("ns", "n"), epoch)
	require.Equal(t, map[string]any{
		"holderIdentity": "a", "leaseDurationSeconds": int64(40),
		"acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:00.000000Z",
	}, first.Object["spec"])
	require.Equal(t, "a", lease.Holder(first))
	require.Equal(t, 40*time.Second, lease.Duration(first))

	first.SetResourceVersion("1")
	again := term.Renewed(first, epoch.Add(1500*time.Millisecond))
	spec := again.Object["spec"].(map[string]any)
	require.Equal(t, "2026-01-01T00:00:00.000000Z", spec["acquireTime"])
	require.Equal(t, "2026-01-01T00:00:01.500000Z", spec["renewTime"])
	require.Zero(t, lease.Transitions(again))

	taken := lease.Term{Holder: "b", Duration: time.Second}.Acquired(again, epoch.Add(time.Minute))
	require.Equal(t, "b", lease.Holder(taken))
	require.EqualValues(t, 1, lease.Transitions(taken))
	require.Equal(t, "a", lease.Holder(again), "the Lease that was read is left alone")
}

func TestExpiryIsJudgedByWhenAChangeWasSeen(t *testing.T) {
	far := epoch.AddDate(-1, 0, 0) // the holder's clock is a year behind
	l := lease.Term{Holder: "a", Duration: 10 * time.Second}.Acquired(lease.New("ns", "n"), far)
	l.SetResourceVersion("1")
	var s lease.Observation
	s.Observe(l, epoch)
	s.Observe(l, epoch.Add(9*time.Second))
	require.False(t, s.Expired(l, epoch.Add(9*time.Second)))
	require.True(t, s.Expired(l, epoch.Add(10*time.Second)))

	l.SetResourceVersion("2")
	s.Observe(l, epoch.Add(11*time.Second))
	require.False(t, s.Expired(l, epoch.Add(20*time.Second)))
	require.Equal(t, epoch.Add(21*time.Second), s.Expires(l))
}

func TestLeasesThatSayNothingAreFree(t *testing.T) {
	l := lease.New("ns", "n")
	var s lease.Observation
	s.Observe(l, epoch)
	require.True(t, s.Expired(l, epoch))
	l.Object["spec"] = map[string]any{"holderIdentity": "a"}
	require.True(t, s.Expired(l, epoch), "a holder without a duration holds for no time, as in kwok")
}
