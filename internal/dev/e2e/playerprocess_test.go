package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/kube/nodes"
	"github.com/stagecraft-go/stagecraft/stage/kube/shard"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// playerEnv is set if this test binary runs as a player: in a separate process, which can be
// killed, and whose memory nothing else uses.
const playerEnv = "STAGECRAFT_E2E_PLAYER"

// A playerConfig is the configuration of a player process.
type playerConfig struct {
	Host      string
	TLS       rest.TLSClientConfig
	Namespace string
	Identity  string // of a replica that shares the Nodes with the label group=Namespace; "": the player plays all Pods of the namespace alone
}

func (r playerConfig) restConfig() *rest.Config {
	return &rest.Config{Host: r.Host, TLSClientConfig: r.TLS, QPS: -1, WarningHandler: rest.NoWarnings{}}
}

// A playerReport is the state of a player process after collecting garbage.
type playerReport struct {
	Goroutines int
	Heap       uint64 // bytes
	Requests   int64
	Retries    int64    // effects that had to be sent again
	Patches    int64    // that were sent
	Twice      []string // effects that were sent more than once
	Failed     []string // transitions that were abandoned
	Stats      player.Stats
}

// A playerLog has the records of a player process.
type playerLog struct {
	requests atomic.Int64

	mu sync.Mutex
	playerReport
	sent map[string]bool
}

func (l *playerLog) trace(e stage.TraceEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch _, patch := e.Effect.(stage.Patch); {
	case e.Kind == stage.TraceFailed && e.Key.Name != "":
		l.Failed = append(l.Failed, e.String())
	case e.Kind == stage.TraceForgotten:
		delete(l.sent, e.Key.String())
	case e.Kind != stage.TraceEffected || e.NoOp:
	case e.Err != nil:
		l.Retries++
	case patch:
		l.Patches++
		what := fmt.Sprint(e.Key, e.Stage, e.Index)
		if l.sent[what] {
			l.Twice = append(l.Twice, e.String())
		}
		l.sent[what] = true
	}
}

// countRequests counts the requests of a client.
func (l *playerLog) countRequests(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		l.requests.Add(1)
		return next.RoundTrip(r)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (l *playerLog) write(w io.Writer, stats player.Stats) error {
	runtime.GC()
	runtime.GC() // frees objects whose finalizers have run
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Goroutines, l.Heap, l.Requests, l.Stats = runtime.NumGoroutine(), m.HeapAlloc, l.requests.Load(), stats
	return json.NewEncoder(w).Encode(l.playerReport)
}

// runPlayer plays until the standard input ends, and writes a report for each line of it.
func runPlayer(as string) error {
	var r playerConfig
	if err := json.Unmarshal([]byte(as), &r); err != nil {
		return err
	}
	l := &playerLog{sent: map[string]bool{}}
	config := r.restConfig()
	config.Wrap(l.countRequests)
	cluster, err := kube.NewForConfig(config)
	if err != nil {
		return err
	}
	player, run, err := r.newPlayer(cluster, l.trace)
	if err != nil {
		return err
	}
	for _, f := range run {
		go f(context.Background())
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if err := l.write(os.Stdout, player.Stats()); err != nil {
			return err
		}
	}
	return nil
}

// newPlayer returns a player, and the functions to run for it.
func (r playerConfig) newPlayer(cluster *kube.Cluster, trace func(stage.TraceEvent)) (*player.Player, []func(context.Context) error, error) {
	o := player.Options{Seed: 1, Namespace: r.Namespace, Timeout: 10 * time.Second, MaxRetryAfter: 3 * time.Second, Trace: trace}
	if r.Identity == "" {
		set, err := stage.Compile(stage.Options{}, presets.PodGeneral())
		if err != nil {
			return nil, nil, err
		}
		player := player.New(set, cluster, o)
		return player, []func(context.Context) error{player.Run}, nil
	}
	return r.newReplica(cluster, o)
}

// newReplica returns a player that shares the Nodes with others.
func (r playerConfig) newReplica(cluster *kube.Cluster, o player.Options) (*player.Player, []func(context.Context) error, error) {
	member, err := shard.New(cluster, shard.Options{Group: r.Namespace, Identity: r.Identity, Duration: 6 * time.Second})
	if err != nil {
		return nil, nil, err
	}
	holder, err := nodes.New(cluster, nodes.Options{
		Policy: nodes.Policy{Labels: "group=" + r.Namespace}, Owns: member.Owns, Lease: nodes.Lease{Identity: r.Namespace},
	})
	if err != nil {
		return nil, nil, err
	}
	set, err := stage.Compile(stage.Options{}, presets.NodeFast(), presets.NodeHeartbeatWithLease(), presets.PodGeneral())
	if err != nil {
		return nil, nil, err
	}
	o.Filter, o.Select = holder.Plays, holder.Rules().Select()
	player := player.New(set, cluster, o)
	return player, []func(context.Context) error{
		player.Run,
		func(ctx context.Context) error { return holder.Run(ctx, player.Refilter) },
		func(ctx context.Context) error {
			return member.Run(ctx, func() { holder.Refilter(); player.Refilter() })
		},
	}, nil
}

// A playerProcess is a process that runs a player.
type playerProcess struct {
	cmd *exec.Cmd
	in  io.Closer
	ask io.Writer
	out *json.Decoder
}

// startPlayer starts a player process for the duration of a test.
func startPlayer(t *testing.T, r playerConfig, env ...string) *playerProcess {
	t.Helper()
	as, err := json.Marshal(r)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	p := &playerProcess{cmd: exec.Command(self)}
	p.cmd.Env = append(append(os.Environ(), playerEnv+"="+string(as)), env...)
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.in, p.ask, p.out = in, in, json.NewDecoder(out)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(p.kill)
	return p
}

// kill kills the process, as a crash would. It can be called twice.
func (p *playerProcess) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// report asks the process for a report.
func (p *playerProcess) report(t *testing.T) (r playerReport) {
	t.Helper()
	_, err := io.WriteString(p.ask, "\n")
	require.NoError(t, err)
	require.NoError(t, p.out.Decode(&r))
	return r
}
