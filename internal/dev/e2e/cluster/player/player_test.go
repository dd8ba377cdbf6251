package main

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

var presets = []string{"../../../../../stage/presets/node-fast.yaml", "../../../../../stage/presets/pod-fast.yaml"}

// start plays the presets on a server.
func start(t testing.TB, s *server, workers int) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() {
		done <- play(ctx, &rest.Config{Host: "http://server", Transport: s}, options{workers: workers, stages: presets})
	}()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
	<-s.began
}

// BenchmarkLive is the life of a pod up to Running: two watch events, a patch and its answer,
// everything except the connection. The metric "kept" is the memory that the player holds for a
// running pod.
func BenchmarkLive(b *testing.B) {
	s := newServer(b)
	start(b, s, 16)
	before := inUse()
	b.ReportAllocs()
	const inTheAir = 25
	created := 0
	for b.Loop() {
		for ; created < inTheAir; created++ {
			s.create(created)
		}
		<-s.running
		s.create(created)
		created++
	}
	b.ReportMetric(float64(inUse()-before)/float64(created), "kept-B/op")
}

func TestEachPodIsPatchedOnce(t *testing.T) {
	s := newServer(t)
	start(t, s, 4)
	for i := range 100 {
		s.create(i)
	}
	for range 100 {
		<-s.running
	}
	s.create(100) // after which another patch of the others would have come
	<-s.running
	require.Empty(t, s.running)
}

// inUse is how many bytes are in use after a collection.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
