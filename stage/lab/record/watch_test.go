package record_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/lab/record"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// brokenOnce is a cluster whose first watch cannot be opened.
type brokenOnce struct {
	*memory.Cluster
	broken bool
}

var errBroken = errors.New("broken")

func (b *brokenOnce) Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	if !b.broken {
		b.broken = true
		return nil, errBroken
	}
	return b.Cluster.Watch(ctx, kind, namespace, o)
}

// TestWatch records a cluster with an object of before, and one that comes while the watch is broken.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster, pods := &brokenOnce{Cluster: memory.New(memory.Options{})}, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
		pod := func(name string) {
			require.NoError(t, cluster.Load(t.Context(), []byte(`{apiVersion: v1, kind: Pod, metadata: {name: `+name+`}}`)))
		}
		pod("before")
		var log record.Log
		var failed []error
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- record.New(record.Options{Sink: log.Append}).Watch(ctx, cluster, func(err error) { failed = append(failed, err) }, pods)
		}()
		synctest.Wait()
		pod("meanwhile")
		time.Sleep(2 * time.Second)
		pod("later")
		synctest.Wait()
		stop()
		require.NoError(t, <-ended)
		require.Equal(t, []error{errBroken}, failed)
		var names []string
		for _, r := range log {
			names = append(names, r.Name+" "+r.To)
		}
		require.Equal(t, []string{"before Pending", "meanwhile Pending", "later Pending"}, names)

		err := record.New(record.Options{}).Watch(t.Context(), cluster, nil, schema.GroupVersionKind{Version: "v1", Kind: "Unknown"})
		require.Error(t, err, "a kind that the cluster does not have")
		full := errors.New("the disk is full")
		err = record.New(record.Options{Sink: func(record.Record) error { return full }}).Watch(t.Context(), cluster, nil, pods)
		require.ErrorIs(t, err, full)
	})
}
