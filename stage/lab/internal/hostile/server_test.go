package hostile_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// isServer is set in the environment of the process that is the server.
const isServer = "STAGECRAFT_HOSTILE_SERVER"

// roles are what the program does instead of tests if its environment has their name.
var roles = map[string]func() error{isServer: serve, isProbe: probeServer}

func TestMain(m *testing.M) {
	for name, role := range roles {
		if os.Getenv(name) == "" {
			continue
		}
		if err := role(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// An address is what a client needs.
type address struct{ URL, Token, CA string }

// figures are those of the server.
type figures struct {
	Goroutines int
	Heap       uint64 // bytes
	Overtaken  int    // the most requests that came after a request of the probe, which waited longer than is fair, and were answered before it
	By         string // one of them
}

// starting is the T of a lab outside a test.
type starting struct{ err error }

func (*starting) Helper() {}
func (s *starting) Fatalf(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// serve serves a lab that follows real time, prints its address, and answers each line of its input
// with figures. It ends with its input.
func serve() error {
	begun := &starting{}
	lab := labtest.New(begun, labtest.Options{Nodes: 3, Start: time.Now()})
	if begun.err != nil {
		return begun.err
	}
	seen := &overtaking{}
	listener, err := apiserver.Listen(lab.Cluster(), apiserver.ListenOptions{Options: apiserver.Options{Log: seen.log}})
	if err != nil {
		return err
	}
	config := listener.Config()
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(address{config.Host, config.BearerToken, string(config.CAData)}); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- lab.Simulation().Follow(ctx, 1) }()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if in.Text() == collecting {
			debug.FreeOSMemory()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		f := seen.take()
		f.Goroutines, f.Heap = runtime.NumGoroutine(), m.HeapAlloc
		if err := out.Encode(f); err != nil {
			return err
		}
	}
	stop()
	return <-ended
}

// An overtaking counts how many requests overtake the probe's. It is safe for concurrent use.
type overtaking struct {
	mu   sync.Mutex
	most figures
	last []apiserver.Request // of others
}

const (
	// fair is how long a request may wait for its turn without being counted. Go lets a goroutine run for 10 ms before another has its turn:
	// five connections with requests in a row on two processors make the probe wait for 25 ms, and answer 700 requests meanwhile.
	fair = 100 * time.Millisecond

	probeAgent = "probe"
	collecting = "collect garbage first"
)

func (o *overtaking) log(r apiserver.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.UserAgent != probeAgent {
		o.last = append(o.last, r)
		if len(o.last) > 2000 {
			o.last = append(o.last[:0], o.last[1000:]...)
		}
		return
	}
	if time.Since(r.Time) < fair {
		return
	}
	n, by := 0, ""
	for _, other := range o.last { // they are answered already
		if other.Time.After(r.Time) && other.Verb != "watch" {
			n, by = n+1, other.Method+" "+other.URI
		}
	}
	if n > o.most.Overtaken {
		o.most.Overtaken, o.most.By = n, by
	}
}

func (o *overtaking) take() figures {
	o.mu.Lock()
	defer o.mu.Unlock()
	f := o.most
	o.most = figures{}
	return f
}

// A server is the process.
type server struct {
	address
	process *exec.Cmd
	in      io.Writer
	out     *json.Decoder
}

// start starts a server that the end of the test ends.
func start(t testing.TB, memory string) *server {
	process, in, out := startSelf(t, isServer+"=1", "GOMEMLIMIT="+memory, "GOGC=100")
	s := &server{process: process, in: in, out: json.NewDecoder(out)}
	require.NoError(t, s.out.Decode(&s.address))
	return s
}

// startSelf starts this program in one of its roles. It ends with its input, which the end of the test closes.
func startSelf(t testing.TB, environment ...string) (process *exec.Cmd, in io.WriteCloser, out io.Reader) {
	self, err := os.Executable()
	require.NoError(t, err)
	process = exec.Command(self)
	process.Env = append(os.Environ(), environment...)
	process.Stderr = os.Stderr
	in, err = process.StdinPipe()
	require.NoError(t, err)
	out, err = process.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, process.Start())
	t.Cleanup(func() {
		_ = in.Close()
		require.NoError(t, process.Wait(), "%s has ended with an error", environment[0])
	})
	return process, in, out
}

// figures asks for those since the last call.
func (s *server) figures(t testing.TB, how string) (f figures) {
	_, err := s.in.Write([]byte(how + "\n"))
	require.NoError(t, err, "the server is gone")
	require.NoError(t, s.out.Decode(&f), "the server is gone")
	return f
}

var peakOf = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peak returns the largest resident size of the server so far, in bytes.
func (s *server) peak(t testing.TB) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Process.Pid))
	if err != nil {
		t.Skip("no /proc")
	}
	found := peakOf.FindStringSubmatch(string(text))
	require.NotNil(t, found)
	kilobytes, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	return kilobytes << 10
}

func (a address) config() *rest.Config {
	return &rest.Config{Host: a.URL, BearerToken: a.Token, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(a.CA)}, QPS: -1}
}

func (a address) host() string { return strings.TrimPrefix(a.URL, "https://") }
