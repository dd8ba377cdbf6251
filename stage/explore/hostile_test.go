package explore_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/explore"
)

// exploding are Stages whose States never end.
var exploding = map[string]string{
	"a counter":                   `  next: {statusTemplate: 'count: {{ add 1 (or .status.count 0) }}'}`,
	"a counter in a large object": `  next: {statusTemplate: 'count: {{ add 1 (or .status.count 0) }}{{ "\n" }}text: {{ repeat 200000 "x" }}'}`,
	"an object that doubles":      `  next: {statusTemplate: 'text: {{ printf "%s%s" (or .status.text "x") (or .status.text "x") }}'}`,
	"a list that doubles":         `  next: {statusTemplate: 'list: {{ $l := or .status.list (list 1) }}{{ concat $l $l | toJson }}'}`,
	"another object each time": `  steps:
  - apply: {template: '{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ printf "c%v" (or .status.count 0) }}}}'}
  - patch: {root: status, subresource: status, template: 'count: {{ add 1 (or .status.count 0) }}'}`,
}

// TestExplodingSets explores Stages that were made to explode: time, memory and text stay bounded,
// and the graph says that not all was explored.
func TestExplodingSets(t *testing.T) {
	if race.On {
		t.Skip("it is about work and memory, and takes many times as long with the race detector")
	}
	for name, body := range exploding {
		t.Run(name, func(t *testing.T) {
			set, err := stage.Compile(stage.Options{}, stage.Parse("s.yaml", fmt.Appendf(nil, `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: a}
spec:
  resourceRef: {kind: Pod}
  selector: {}
%s
`, body)))
			require.NoError(t, err)
			pod := object(t, "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}")
			before := live()
			g, err := explore.Explore(t.Context(), set, explore.Options{MaxStates: 2000, MaxBytes: 4 << 20}, pod)
			require.NoError(t, err)
			require.Less(t, live()-before, int64(48<<20))
			require.Equal(t, endless[name], g.Truncated(), "the size of an object ends the others")
			require.LessOrEqual(t, len(g.States), 2001)
			require.Less(t, len(g.String()), 1<<20)
			runtime.KeepAlive(g)
		})
	}
}

// endless are those whose States are not all found.
var endless = map[string]bool{"a counter": true, "a counter in a large object": true, "another object each time": true}

// live is the size of the live heap after a garbage collection.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
