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

// playerEnv is set where this test binary is a player: a process of its own, which can be killed, and whose memory nobody else uses.
const playerEnv = "STAGECRAFT_E2E_PLAYER"

// A role is what a player process plays.
type role struct {
	Host      string
	TLS       rest.TLSClientConfig
	Namespace string
	Identity  string // of one who shares the Nodes with the label group=Namespace; "" plays all Pods of the namespace alone
}

func (r role) config() *rest.Config {
	return &rest.Config{Host: r.Host, TLSClientConfig: r.TLS, QPS: -1, WarningHandler: rest.NoWarnings{}}
}

// A report is what a player process says of itself. Before it counts, it collects garbage.
type report struct {
	Goroutines int
	Heap       uint64 // bytes
	Requests   int64
	Retries    int64    // effects that were to be sent again
	Patches    int64    // that were carried out
	Twice      []string // effects that were carried out more than once
	Failed     []string // transitions that were given up
	Stats      player.Stats
}

// A ledger notes what a player process does.
type ledger struct {
	requests atomic.Int64

	mu sync.Mutex
	report
	done map[string]bool
}

func (l *ledger) trace(e stage.TraceEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch _, patch := e.Effect.(stage.Patch); {
	case e.Kind == stage.TraceFailed && e.Key.Name != "":
		l.Failed = append(l.Failed, e.String())
	case e.Kind == stage.TraceForgotten:
		delete(l.done, e.Key.String())
	case e.Kind != stage.TraceEffected || e.NoOp:
	case e.Err != nil:
		l.Retries++
	case patch:
		l.Patches++
		what := fmt.Sprint(e.Key, e.Stage, e.Index)
		if l.done[what] {
			l.Twice = append(l.Twice, e.String())
		}
		l.done[what] = true
	}
}

// wrap counts requests.
func (l *ledger) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		l.requests.Add(1)
		return next.RoundTrip(r)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (l *ledger) write(w io.Writer, stats player.Stats) error {
	runtime.GC()
	runtime.GC() // what finalizers let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Goroutines, l.Heap, l.Requests, l.Stats = runtime.NumGoroutine(), m.HeapAlloc, l.requests.Load(), stats
	return json.NewEncoder(w).Encode(l.report)
}

// beAPlayer plays until the standard input ends, and answers each line of it with a report.
func beAPlayer(as string) error {
	var r role
	if err := json.Unmarshal([]byte(as), &r); err != nil {
		return err
	}
	l := &ledger{done: map[string]bool{}}
	config := r.config()
	config.Wrap(l.wrap)
	cluster, err := kube.NewForConfig(config)
	if err != nil {
		return err
	}
	player, run, err := r.cast(cluster, l.trace)
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

// cast makes the player of a role, and all that must run for it.
func (r role) cast(cluster *kube.Cluster, trace func(stage.TraceEvent)) (*player.Player, []func(context.Context) error, error) {
	o := player.Options{Seed: 1, Namespace: r.Namespace, Timeout: 10 * time.Second, MaxRetryAfter: 3 * time.Second, Trace: trace}
	if r.Identity == "" {
		set, err := stage.Compile(stage.Options{}, presets.PodGeneral())
		if err != nil {
			return nil, nil, err
		}
		player := player.New(set, cluster, o)
		return player, []func(context.Context) error{player.Run}, nil
	}
	return r.share(cluster, o)
}

// share makes a player that is one of several.
func (r role) share(cluster *kube.Cluster, o player.Options) (*player.Player, []func(context.Context) error, error) {
	member, err := shard.New(cluster, shard.Options{Group: r.Namespace, Identity: r.Identity, Duration: 6 * time.Second})
	if err != nil {
		return nil, nil, err
	}
	roster, err := nodes.New(cluster, nodes.Options{
		Policy: nodes.Policy{Labels: "group=" + r.Namespace}, Owns: member.Owns, Lease: nodes.Lease{Identity: r.Namespace},
	})
	if err != nil {
		return nil, nil, err
	}
	set, err := stage.Compile(stage.Options{}, presets.NodeFast(), presets.NodeHeartbeatWithLease(), presets.PodGeneral())
	if err != nil {
		return nil, nil, err
	}
	o.Filter, o.Select = roster.Plays, roster.Rules().Select()
	player := player.New(set, cluster, o)
	return player, []func(context.Context) error{
		player.Run,
		func(ctx context.Context) error { return roster.Run(ctx, player.Refilter) },
		func(ctx context.Context) error {
			return member.Run(ctx, func() { roster.Reconsider(); player.Refilter() })
		},
	}, nil
}

// A performer is a player process.
type performer struct {
	cmd *exec.Cmd
	in  io.Closer
	ask io.Writer
	out *json.Decoder
}

// perform starts a player process for the time of a test.
func perform(t *testing.T, r role, env ...string) *performer {
	t.Helper()
	as, err := json.Marshal(r)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	p := &performer{cmd: exec.Command(self)}
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

// kill ends the process as a crash does. Twice is once.
func (p *performer) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// report asks the process how it does.
func (p *performer) report(t *testing.T) (r report) {
	t.Helper()
	_, err := io.WriteString(p.ask, "\n")
	require.NoError(t, err)
	require.NoError(t, p.out.Decode(&r))
	return r
}
