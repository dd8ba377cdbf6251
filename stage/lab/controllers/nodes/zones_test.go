package nodes_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/nodes"
)

// fleet returns n Nodes of a zone, and their names.
func fleet(zone string, n int) (texts, names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%s-%02d", zone, i))
		texts = append(texts, aNode(names[i], zone))
	}
	return texts, names
}

// tainted returns how many Nodes have a taint NoExecute, and when the last of them got it.
func (h *history) tainted() (n int, last string) {
	for _, line := range h.of("NoExecute") {
		_, _ = fmt.Sscan(line, &last)
	}
	for _, state := range h.state {
		if strings.HasSuffix(state, "NoExecute") {
			n++
		}
	}
	return n, last
}

func TestRatesOfZones(t *testing.T) {
	for name, test := range map[string]struct {
		nodes, lost, tainted int
		last                 string
	}{
		"one node in ten seconds":                  {10, 5, 5, "45.1"},
		"two of three":                             {3, 2, 2, "15.1"},
		"six of ten: none in a small zone":         {10, 6, 0, ""},
		"33 of 60: one in 100.1 seconds":           {60, 33, 33, "3208.3"},
		"32 of 60 is not yet a disruption":         {60, 32, 32, "315.1"},
		"a whole zone, as others are well: as one": {10, 10, 10, "95.1"},
	} {
		t.Run(name, func(t *testing.T) {
			texts, names := fleet("z", test.nodes)
			h := recordWith(t, nodes.Options{}, append(texts, aNode("other", "well"))...)
			h.setReady("False", names[:test.lost]...)
			h.advance(2 * time.Hour)
			n, last := h.tainted()
			require.Equal(t, test.tainted, n)
			require.Equal(t, test.last, last)
		})
	}
}

func TestNobodyIsEvictedWhenAllNodesAreLost(t *testing.T) {
	texts, names := fleet("z", 4)
	h := recordWith(t, nodes.Options{}, append(texts, aPod("p", "z-00", "{key: node.kubernetes.io/not-ready, operator: Exists, tolerationSeconds: 40}"))...)
	h.setReady("False", names[0])
	h.advance(20 * time.Second)
	h.setReady("False", names[1:]...)
	h.advance(time.Hour)
	require.Equal(t, "Running True", h.state["Pod p"], "its eviction was cancelled")
	n, _ := h.tainted()
	require.Zero(t, n, "taints were removed")
	h.setReady("True", names[3])
	h.advance(time.Hour)
	n, _ = h.tainted()
	require.Zero(t, n, "3 of 4 are not ready, in a small zone")
	h.setReady("True", names[2])
	h.advance(time.Hour)
	n, _ = h.tainted()
	require.Equal(t, 2, n)
}
