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

func releasesSet(t testing.TB) *stage.Set {
	set, err := stage.Compile(stage.Options{}, stage.Parse("stages.yaml", []byte(releases)))
	require.NoError(t, err)
	return set
}

// TestHostileObjectsDoNotStopOthers plays 64 objects with a megabyte of text for the expression,
// together with 500 sound objects. The goal is two seconds; the bound is for a machine twenty times
// slower.
func TestHostileObjectsDoNotStopOthers(t *testing.T) {
	cluster := memory.New(memory.Options{})
	text := strings.Repeat("0123456789abcdef", 1<<16)
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
	require.ErrorIs(t, player.Play(ctx, releasesSet(t), cluster, player.Options{Trace: trace}), all)
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
