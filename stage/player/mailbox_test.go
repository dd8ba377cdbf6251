package player

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
)

// TestTheMailboxKeepsTheNewestState, whatever the order of delivery. A deletion is always news.
func TestTheMailboxKeepsTheNewestState(t *testing.T) {
	key := stage.Key{Version: "v1", Kind: "Pod", Name: "a"}
	state := func(uid, version string) observation {
		obj := &unstructured.Unstructured{}
		obj.SetUID(types.UID(uid))
		obj.SetResourceVersion(version)
		return observation{key: key, obj: obj}
	}
	gone := func(uid, version string) observation {
		s := state(uid, version)
		s.gone = true
		return s
	}
	for name, c := range map[string]struct {
		put   []observation
		want  string
		gone  bool
		again bool
	}{
		"in order":                        {put: []observation{state("u", "1"), state("u", "2")}, want: "2"},
		"out of order":                    {put: []observation{state("u", "10"), state("u", "9")}, want: "10"},
		"without an order":                {put: []observation{state("u", "b"), state("u", "a")}, want: "a"},
		"another object":                  {put: []observation{state("u", "10"), state("v", "9")}, want: "9"},
		"deleted":                         {put: []observation{state("u", "10"), gone("u", "9")}, want: "9", gone: true},
		"deleted, and another":            {put: []observation{gone("u", "10"), state("v", "11")}, want: "11"},
		"deleted, and there again":        {put: []observation{gone("u", "10"), state("u", "3"), state("u", "4")}, want: "4", again: true},
		"deleted, as is said twice":       {put: []observation{gone("u", "10"), gone("u", "10")}, want: "10", gone: true},
		"deleted twice, and there before": {put: []observation{state("u", "9"), gone("u", "10"), gone("u", "10")}, want: "10", gone: true},
	} {
		m := newMailbox()
		for _, s := range c.put {
			m.put(s)
		}
		got := m.take().observations
		require.Len(t, got, 1, name)
		require.Equal(t, c.want, got[0].obj.GetResourceVersion(), name)
		require.Equal(t, c.gone, got[0].gone, name)
		require.Equal(t, c.again, got[0].again, name)
	}
}
