package e2e_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/lab/expect"
	"github.com/stagecraft-go/stagecraft/stage/lab/measure"
	simlog "github.com/stagecraft-go/stagecraft/stage/lab/record"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// TestLogOfARealCluster checks that a run on a real server has a log of the same format as a
// simulation, for the same metrics.
func TestLogOfARealCluster(t *testing.T) {
	cluster := newCluster(t)
	startControllers(t, plane)
	playNodes(t, cluster, 2)
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: log}}")

	var log simlog.Log
	recorder := simlog.New(simlog.Options{Seed: 1, Sink: log.Append, WatchDelay: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 3)
	go func() {
		stopped <- player.Play(ctx, stage.MustCompile(presets.PodFast()), cluster, player.Options{Seed: 1, Namespace: "log", Trace: recorder.Trace})
	}()
	for _, kind := range []schema.GroupVersionKind{jobKind, podKind} {
		go func() { stopped <- observe(ctx, cluster, kind, recorder) }()
	}
	create(t, cluster, `{apiVersion: batch/v1, kind: Job, metadata: {name: work, namespace: log}, spec: {parallelism: 2, completions: 5,
		template: {spec: {restartPolicy: Never, containers: [{name: a, image: a1, resources: {requests: {cpu: 250m}}}]}}}}`)
	eventually(t, "the Job is complete", func() bool {
		obj, err := cluster.Get(t.Context(), jobKind, types.NamespacedName{Namespace: "log", Name: "work"})
		return err == nil && condition(obj, "Complete") == "True"
	})
	time.Sleep(200 * time.Millisecond) // the watches tell of it
	cancel()
	for range cap(stopped) {
		require.ErrorIs(t, <-stopped, context.Canceled)
	}

	expect.Require(t, log, "count(scheduling latency) == 5", "max(scheduling latency) < 30s", "count(job completion time) == 1", "max(pending pods) <= 5")
	require.NotZero(t, measure.Use("cpu").Sample(log).Summary().Max)
	played := 0
	for _, r := range log {
		if r.Stage != "" {
			played++
		}
	}
	require.Positive(t, played, "records name the Stages that were played")

	var text bytes.Buffer
	w := simlog.NewCSVWriter(&text)
	require.NoError(t, w.WriteAll(log))
	require.NoError(t, w.Flush())
	read, err := simlog.Collect(simlog.ReadCSV("log.csv", &text))
	require.NoError(t, err)
	require.Equal(t, log, read)
}

// observe makes a recorder observe a kind until ctx ends. A server can end a watch at any time.
func observe(ctx context.Context, cluster *kube.Cluster, kind schema.GroupVersionKind, r *simlog.Recorder) error {
	for ctx.Err() == nil {
		list, err := cluster.List(ctx, kind, "log", metav1.ListOptions{})
		if err != nil {
			continue
		}
		if err := r.Sync(kind, list.Items, time.Now()); err != nil {
			return err
		}
		w, err := cluster.Watch(ctx, kind, "log", metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
		if err != nil {
			continue
		}
		for e := range w.ResultChan() {
			if e.Type == watch.Error {
				break
			}
			if err := r.Observe(e, time.Now()); err != nil {
				return err
			}
		}
	}
	return context.Cause(ctx)
}
