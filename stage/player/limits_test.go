package player_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
)

// releases is a Stage that an operator could write. Without limits its expression takes seconds on
// a text of a megabyte.
const releases = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: candidate}
spec:
  resourceRef: {apiGroup: v1, kind: ConfigMap}
  selector:
    matchExpressions:
    - {key: '.data.version | test("([0-9a-z]{1,30}[.-]?){1,10}-rc[0-9]")', operator: In, values: ["true"]}
    - {key: '.data.seen', operator: DoesNotExist}
  next:
    patches:
    - {root: data, type: merge, template: 'seen: "yes"'}
`

var configMapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

func configMap(name, version string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "default"},
		"data": map[string]any{"version": version},
	}}
}

func releasesSet(t testing.TB) *stage.Set { return compiledSet(t, releases) }

func compiledSet(t testing.TB, stages string) *stage.Set {
	set, err := stage.Compile(stage.Options{}, stage.Parse("stages.yaml", []byte(stages)))
	require.NoError(t, err)
	return set
}

// hostileStages have an expression that takes seconds on a megabyte of the text, if the work is not
// counted.
var hostileStages = map[string]struct{ expression, text string }{
	"a pattern":           {`.data.version | test("([0-9a-z]{1,30}[.-]?){1,10}-rc[0-9]")`, "0123456789abcdef"},
	"slices of non-ASCII": {`.data.version as $s | [range(2000) | $s[400000:400001]] | length == 2000`, "é日"},
	"lists in a loop":     {`(.data.version / "") as $l | [range(2000) | first($l[])] | length == 2000`, "é"},
}

// TestHostileObjectsDoNotStopOthers plays 64 objects with a megabyte of text for the expression,
// together with 500 sound objects. The goal is two seconds; the bound is for a machine twenty times
// slower.
func TestHostileObjectsDoNotStopOthers(t *testing.T) {
	for name, hostile := range hostileStages {
		t.Run(name, func(t *testing.T) {
			set := compiledSet(t, strings.Replace(releases, hostileStages["a pattern"].expression, hostile.expression, 1))
			requireOthersArePlayed(t, set, strings.Repeat(hostile.text, 1<<20/len(hostile.text)))
		})
	}
}

func requireOthersArePlayed(t *testing.T, set *stage.Set, text string) {
	cluster := memory.New(memory.Options{})
	for i := range 64 {
		create(t, cluster, configMap(fmt.Sprintf("a-hostile-%d", i), text))
	}
	for i := range 500 {
		create(t, cluster, configMap(fmt.Sprintf("sound-%d", i), "1.2-rc1"))
	}
	var played atomic.Int64
	all := errors.New("all are played")
	ctx, cancel := context.WithCancelCause(t.Context())
	trace := func(e stage.TraceEvent) {
		if e.Kind == stage.TraceEffected && e.Effect != nil && played.Add(1) == 500 {
			cancel(all)
		}
	}
	stop := time.AfterFunc(20*2*time.Second, func() { cancel(errors.New("too slow")) })
	defer stop.Stop()
	start := time.Now()
	require.ErrorIs(t, player.Play(ctx, set, cluster, player.Options{Trace: trace}), all)
	t.Logf("%v", time.Since(start))
	list, err := cluster.List(context.Background(), configMapKind, "default", metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 564)
}

// TestRunEndsBetweenObjects checks that a worker looks at no further object once the context is
// done, even if many objects wait.
func TestRunEndsBetweenObjects(t *testing.T) {
	cluster := memory.New(memory.Options{})
	for i := range 200 {
		create(t, cluster, configMap(fmt.Sprintf("c-%d", i), "1.2-rc1"))
	}
	for name, refilter := range map[string]bool{"observations": false, "refilter": true} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			var asked, after atomic.Int64
			var p *player.Player
			p = player.New(releasesSet(t), cluster, player.Options{Workers: 1, Filter: func(*unstructured.Unstructured) bool {
				switch n := asked.Add(1); {
				case ctx.Err() != nil:
					after.Add(1)
				case n == 200 && refilter:
					p.Refilter()
				case n == 10 && !refilter, n == 210:
					cancel()
				}
				return false
			}})
			require.ErrorIs(t, p.Run(ctx), context.Canceled)
			require.Zero(t, after.Load())
		})
	}
}

// TestPlayReturnsAmongHostileObjects checks that Play returns soon after its context ends, although
// every object that waits is hostile.
func TestPlayReturnsAmongHostileObjects(t *testing.T) {
	for name, hostile := range hostileStages {
		t.Run(name, func(t *testing.T) {
			set := compiledSet(t, strings.Replace(releases, hostileStages["a pattern"].expression, hostile.expression, 1))
			cluster := memory.New(memory.Options{})
			for i := range 64 {
				create(t, cluster, configMap(fmt.Sprintf("hostile-%d", i), strings.Repeat(hostile.text, 1<<20/len(hostile.text))))
			}
			ctx, cancel := context.WithCancel(t.Context())
			var ended time.Time
			var evaluated atomic.Int64
			err := player.Play(ctx, set, cluster, player.Options{Filter: func(*unstructured.Unstructured) bool {
				if evaluated.Add(1) == 8 {
					ended = time.Now()
					cancel()
				}
				return true
			}})
			require.ErrorIs(t, err, context.Canceled)
			t.Logf("%v", time.Since(ended))
			require.Less(t, time.Since(ended), 20*time.Second, "the goal is a second")
			require.Less(t, evaluated.Load(), int64(64))
		})
	}
}
