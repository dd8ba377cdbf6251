package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/fit"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// manyPods is a Job whose Pods have the delays of the preset PodGeneral.
const manyPods = `
apiVersion: batch/v1
kind: Job
metadata: {namespace: stagecraft-demo, name: many}
spec:
  parallelism: 200
  completions: 200
  template:
    spec:
      nodeSelector: {stagecraft-demo: "true"}
      tolerations: [{key: kwok.x-k8s.io/node, operator: Exists, effect: NoSchedule}]
      containers: [{name: c, image: i}]
      restartPolicy: Never
`

// background runs a function until the returned function is called, which returns its error.
func background(t *testing.T, f func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	return sync.OnceValue(func() error { cancel(); return <-done })
}

// TestRecordAUsersCluster has a player of the preset PodGeneral on a real control plane. It records
// the cluster as stagecraft record does, which does not know the Stages. At the
// same time it records the cluster with the names of the Stages. Fitted to both logs, the delays
// are those of the preset: from 1 to 5 seconds for each Stage.
func TestRecordAUsersCluster(t *testing.T) {
	assets, err := controlplane.Assets("../../internal/dev/kubebin", os.Stderr)
	if errors.Is(err, controlplane.ErrNoAssets) {
		t.Skip(err)
	}
	require.NoError(t, err)
	server, err := controlplane.Start(assets)
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Stop()) }()
	controllers, err := server.StartControllers()
	require.NoError(t, err)
	defer func() { require.NoError(t, controllers.Stop()) }()

	var seen bytes.Buffer
	d, err := newDemo(&plane{kubeconfig: server.Kubeconfig(), kubectl: filepath.Join(assets, "kubectl")}, 2, &seen)
	require.NoError(t, err)
	require.NoError(t, d.define(t.Context()))
	all, err := stageManifest(presets.NodeFast(), presets.NodeHeartbeatWithLease(), presets.PodGeneral())
	require.NoError(t, err)
	named, unnamed := filepath.Join(t.TempDir(), "named.jsonl"), filepath.Join(t.TempDir(), "unnamed.jsonl")
	recordedPlayer := recorderTo(t, named)
	d.trace = recordedPlayer.Trace

	stopPlayer := background(t, func(ctx context.Context) error {
		return together(ctx, d.play, func(ctx context.Context) error { return recordedPlayer.Watch(ctx, d.cluster, d.tell, recordedKinds...) })
	})
	defer func() { require.NoError(t, stopPlayer()) }()
	stopRecording := background(t, func(ctx context.Context) error {
		return recorderTo(t, unnamed).Watch(ctx, d.cluster, d.tell, recordedKinds...)
	})
	defer func() { require.NoError(t, stopRecording()) }()
	require.Eventually(t, func() bool { _, err := os.Stat(unnamed); return err == nil }, time.Minute, 10*time.Millisecond)
	for _, manifest := range []string{all, d.nodeManifest(), namespaceYAML, manyPods} {
		require.NoError(t, d.kubectl.create(t.Context(), manifest))
	}
	job := wait.Ref{Kind: schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, Namespace: "stagecraft-demo", Name: "many"}
	require.NoError(t, d.wait(t.Context(), 5*time.Minute, job), &seen)
	require.NoError(t, stopRecording())
	require.NoError(t, stopPlayer())

	one := []float64{1, 3, 4.6, 5} // least, p50, p90, greatest of a Stage: uniform from 1 to 5 seconds
	r := fitLog(t, named, fit.Options{Stages: []stage.Source{presets.PodGeneral()}})
	for _, name := range []string{"pod-create", "pod-ready", "pod-complete"} {
		requireDelay(t, r, name, one)
	}
	r = fitLog(t, unnamed, fit.Options{})
	requireDelay(t, r, "pod-ready-succeeded", one)
	requireDelay(t, r, "pod-scheduled-ready", []float64{2, 6, 8.2, 10}) // pod-create, then pod-ready
	text, err := r.YAML()
	require.NoError(t, err)
	_, err = stage.Compile(stage.Options{Extensions: true}, stage.Parse("fitted.yaml", text))
	require.NoError(t, err)
}

// recordedKinds are the kinds that stagecraft record records.
var recordedKinds = []schema.GroupVersionKind{{Version: "v1", Kind: "Node"}, {Version: "v1", Kind: "Pod"}, {Group: "batch", Version: "v1", Kind: "Job"}}

// recorderTo returns a recorder that writes each record to a new file at once.
func recorderTo(t *testing.T, name string) *record.Recorder {
	file, err := os.Create(name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	log := record.NewJSONLWriter(file)
	return record.New(record.Options{WatchDelay: 10 * time.Second, Sink: func(r record.Record) error { return errors.Join(log.Write(r), log.Flush()) }})
}

func fitLog(t *testing.T, name string, o fit.Options) *fit.Result {
	t.Helper()
	file, err := os.Open(name)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	r, err := fit.Fit(record.ReadJSONL(name, file), o)
	require.NoError(t, err)
	t.Logf("%s:\n%s", filepath.Base(name), r)
	return r
}

// requireDelay compares the delay of a fitted Stage with the wanted delay. The API server takes
// some time, more on a busy machine; 200 samples spread by a tenth.
func requireDelay(t *testing.T, r *fit.Result, name string, want []float64) {
	t.Helper()
	for _, tr := range r.Transitions {
		if tr.Fitted != name {
			continue
		}
		require.Equal(t, 200, tr.Samples, name)
		require.Less(t, tr.Distance, 0.2, name)
		require.Greater(t, tr.Quantile(0).Seconds(), want[0]-.1, name)
		require.InDelta(t, want[1], tr.Quantile(.5).Seconds(), .8, name)
		require.InDelta(t, want[2], tr.Quantile(.9).Seconds(), .8, name)
		require.Less(t, tr.Quantile(1).Seconds(), want[3]+1.5, name)
		return
	}
	require.Fail(t, "not fitted", "%s\n%s", name, r)
}
