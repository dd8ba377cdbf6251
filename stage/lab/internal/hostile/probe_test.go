package hostile_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The probe is another process, as other clients of a server are: in the process of the attacks it would also wait for a processor while
// they write and read their megabytes.

// isProbe is set in the environment of the process that is the probe.
const isProbe = "STAGECRAFT_HOSTILE_PROBE"

// A probe uses other objects while attacks go on.
type probe struct {
	t   testing.TB
	in  io.Writer
	out *json.Decoder
}

// probed is what a probe found between begin and end.
type probed struct {
	Count   int // of requests
	Longest time.Duration
	Stolen  time.Duration // what the host of a virtual machine took during that request
	Fault   string        // of the first request that failed
}

const probedMaps = "/api/v1/namespaces/default/configmaps/"

// startProbe starts a probe that the end of the test ends.
func startProbe(t testing.TB, a address) *probe {
	_, in, out := startSelf(t, isProbe+"="+asJSON(a))
	return &probe{t, in, json.NewDecoder(out)}
}

// begin begins to probe.
func (p *probe) begin() { p.tell("begin") }

// end ends it. It returns what was found since begin.
func (p *probe) end() (f probed) {
	p.tell("end")
	require.NoError(p.t, p.out.Decode(&f), "the probe is gone")
	return f
}

func (p *probe) tell(what string) {
	_, err := io.WriteString(p.in, what+"\n")
	require.NoError(p.t, err, "the probe is gone")
}

// probeServer is the process: it probes from a first line of its input to a second, and again.
func probeServer() error {
	var a address
	if err := json.Unmarshal([]byte(os.Getenv(isProbe)), &a); err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		stop, found := make(chan struct{}), make(chan probed, 1)
		go func() { found <- newClient(nil, a, probeAgent).probe(stop) }()
		in.Scan()
		close(stop)
		if err := out.Encode(<-found); err != nil {
			return err
		}
	}
	return nil
}

// stolen returns how long the processors of a virtual machine have waited for those of its host, which helps to judge a long wait;
// 0 where the system does not tell.
func stolen() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	all, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(all)
	if err != nil || len(fields) < 9 {
		return 0
	}
	ticks, err := strconv.Atoi(fields[8])
	if err != nil {
		return 0
	}
	return time.Duration(ticks) * 10 * time.Millisecond // of USER_HZ, which is 100 wherever Go runs
}

// probe gets, patches and lists repeatedly, one request after another. It ends when it is stopped or a request fails.
func (c *client) probe(stop <-chan struct{}) (f probed) {
	pause := 3 * time.Millisecond // otherwise it takes a third of the time of the corpus
	if os.Getenv("HOSTILE_TIMES") != "" {
		pause = 0
	}
	defer c.http.CloseIdleConnections()
	for i := 0; ; i++ {
		for _, r := range []request{
			{method: "GET", path: probedMaps + "probe"},
			{method: "PATCH", path: probedMaps + "probe", kind: mergeType, body: text(fmt.Sprintf(`{"data": {"n": "%d"}}`, i))},
			{method: "GET", path: "/api/v1/namespaces/default/configmaps?labelSelector=app=probe"},
		} {
			begin, before := time.Now(), stolen()
			if a := c.send(r); a.err != nil || a.code != http.StatusOK {
				f.Fault = fmt.Sprintf("%s %s: %d %.300s %v", r.method, r.path, a.code, a.body, a.err)
				return f
			}
			f.Count++
			if waited := time.Since(begin); waited > f.Longest {
				f.Longest, f.Stolen = waited, stolen()-before
			}
		}
		select {
		case <-stop:
			return f
		case <-time.After(pause):
		}
	}
}
