package player_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// refusing is a cluster whose lists or watches fail for a time.
type refusing struct {
	*memory.Cluster
	lists, watches error
	healed         atomic.Bool
}

func (r *refusing) Share() transport.Transport { return r }

func (r *refusing) List(ctx context.Context, k schema.GroupVersionKind, ns string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if r.lists != nil && !r.healed.Load() {
		return nil, r.lists
	}
	return r.Cluster.List(ctx, k, ns, o)
}

func (r *refusing) Watch(ctx context.Context, k schema.GroupVersionKind, ns string, o metav1.ListOptions) (watch.Interface, error) {
	if r.watches != nil && !r.healed.Load() {
		return nil, r.watches
	}
	return r.Cluster.Watch(ctx, k, ns, o)
}

func forbidden() error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil)
}

// ready runs a test together with a player, on a cluster that fails as the test says.
func ready(t *testing.T, set *stage.Set, r *refusing, test func(*player.Player)) {
	synctest.Test(t, func(t *testing.T) {
		r.Cluster = memory.New(memory.Options{})
		p := player.New(set, r, player.Options{})
		require.EqualError(t, p.Ready(), "no Set is played: the player does not run, or the Nodes are not listed yet")
		require.Empty(t, p.Kinds())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.Run(ctx) }()
		synctest.Wait()
		test(p)
		cancel()
		<-done
		require.Error(t, p.Ready())
		require.Empty(t, p.Kinds())
	})
}

func TestReadyWhenEveryKindIsListed(t *testing.T) {
	r := &refusing{lists: forbidden()}
	ready(t, lifecycle(t), r, func(p *player.Player) {
		require.Error(t, p.Ready(), "the addresses of Pods depend on the Nodes, which cannot be listed")
		r.healed.Store(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.NoError(t, p.Ready())
		require.Len(t, p.Kinds(), 2)
		age := time.Since(p.Kinds()[podKind].Listed)
		require.True(t, age > 0 && age < time.Minute, age)

		p.Use(stage.MustCompile())
		synctest.Wait()
		require.NoError(t, p.Ready())
		require.Empty(t, p.Kinds())
	})
}

func TestReadyNamesTheKindThatFails(t *testing.T) {
	r := &refusing{watches: forbidden()}
	ready(t, lifecycle(t), r, func(p *player.Player) {
		require.ErrorContains(t, p.Ready(), "v1 Pod: ")
		require.True(t, apierrors.IsForbidden(p.Kinds()[podKind].Err))
		r.healed.Store(true)
		time.Sleep(time.Minute)
		require.NoError(t, p.Ready())
	})
}

func TestReadyWithoutAKindThatDoesNotExist(t *testing.T) {
	missing := apierrors.NewNotFound(schema.GroupResource{Group: "example.com", Resource: "widgets"}, "")
	text := "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: a}\nspec: {resourceRef: {apiGroup: example.com/v1, kind: Widget}, selector: {}, next: {delete: true}}"
	ready(t, compile(t, text), &refusing{lists: missing}, func(p *player.Player) {
		require.NoError(t, p.Ready())
		for _, state := range p.Kinds() {
			require.True(t, apierrors.IsNotFound(state.Err))
			require.Zero(t, state.Listed)
		}
		require.Len(t, p.Kinds(), 1)
	})
}
