package player

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/staged/fleet"
)

// A version that comes back while another one is under way counts only when it was confirmed again: the other
// one may arrive after all. Its statuses from before the other was ordered are its own still.
func TestARevisionThatComesBack(t *testing.T) {
	one, two := fleet.RevisionID("sha256:1111111111111111"), fleet.RevisionID("sha256:2222222222222222")
	ref, at := fleet.ObjectRef{Group: "apps", Resource: "deployments", Namespace: "shop", Name: "web"}, time.Unix(1000, 0)
	v := View{Contents: map[fleet.RevisionID]fleet.Snapshot{one: {}, two: {}}}
	status := func(generation, written int64) *clusterStatus {
		return &clusterStatus{object: ref, generation: generation, written: time.Unix(written, 0), since: time.Unix(written, 0)}
	}
	m := mark{absent: true}.confirm(one, true, at)
	require.False(t, m.isUnderWay())
	require.True(t, m.isOrdered(v, status(1, 990)), "a cluster that had nothing reports nothing else")
	require.Empty(t, mark{absent: true}.confirm(one, false, at).before, "what was ordered before may have come first")

	m.counters = m.countersBefore(v, []*clusterStatus{status(1, 990)}, time.Unix(1010, 0))
	m.next = two.Short() // it is ordered, and never confirmed
	m = parseMark(v, m.String())
	require.True(t, m.isUnderWay())
	again := m.confirm(one, false, time.Unix(1020, 0))
	require.False(t, again.isUnderWay())
	require.EqualValues(t, 1020, again.confirmed)
	require.True(t, again.isOrdered(v, status(1, 990)), "a status from before is its own")
	require.False(t, again.isOrdered(v, status(2, 1015)), "this one may be of the other")
	require.True(t, again.isOrdered(v, status(3, 1021)))

	other := m.confirm(two, false, time.Unix(1020, 0))
	require.Equal(t, one, other.before)
	require.False(t, other.isOrdered(v, status(1, 1015)), "the status of one is not that of two")
}
