package player_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
)

func ExampleLogTrace() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, nil))
	trace := player.LogTrace(logger) // player.Options{Trace: trace}
	at := time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)
	pod := stage.Key{Version: "v1", Kind: "Pod", Namespace: "default", Name: "web"}
	trace(stage.TraceEvent{Time: at, Kind: stage.TracePlayed, Key: pod, Stage: "pod-ready", N: 1, Due: at.Add(-time.Millisecond)})
	trace(stage.TraceEvent{Time: at, Kind: stage.TraceFailed, Key: pod, Stage: "pod-ready", Effect: stage.Delete{}, Err: errors.New("no")})
	// Output:
	// time=2006-01-02T15:04:05.000Z level=INFO msg=played object="Pod default/web" stage=pod-ready n=1 late=1ms
	// time=2006-01-02T15:04:05.000Z level=ERROR msg=failed object="Pod default/web" stage=pod-ready index=0 effect=delete error=no
}

// TestLogTrace logs the life of a Pod. What is written to the Pod is not logged.
func TestLogTrace(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	playing(t, lifecycle(t), player.Options{Trace: player.LogTrace(logger)}, nil, func(_ context.Context, t *testing.T, c *memory.Cluster) {
		create(t, c, newPod("web", ""))
		time.Sleep(time.Second)
		synctest.Wait()
	})
	for _, want := range []string{
		`level=DEBUG msg=observed object="Pod default/web" resourceVersion=`,
		`level=DEBUG msg=scheduled object="Pod default/web" stage=run n=0 in=1s weight=0`,
		`level=INFO msg=played object="Pod default/web" stage=run n=0 late=0s`,
		`level=DEBUG msg=effect object="Pod default/web" stage=run index=0 effect="event Normal Started"`,
		`effect="patch strategic /status"`,
	} {
		require.Contains(t, out.String(), want)
	}
	require.NotContains(t, out.String(), "phase")
}
