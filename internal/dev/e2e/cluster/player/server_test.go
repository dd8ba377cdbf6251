package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A server answers like a kube-apiserver with the recorded pods. It needs no connection, so that a
// benchmark measures only the player.
type server struct {
	added, modified []byte // watch events of a pod
	patched         []byte // the answer to the patch between

	mu      sync.Mutex
	version int
	events  [][]byte                // of pods; the version of the first is firstVersion+1
	pods    map[string]podOfAnEvent // by name
	more    *sync.Cond              // than events

	begin   sync.Once
	began   chan struct{} // closed when pods are watched
	running chan struct{} // one for each pod that was patched
}

// The pod that was recorded.
const (
	recordedName = "web-7c5ddbdf54-2x8kq"
	recordedUID  = "b2502946-f330-4585-80dc-2a5cf0efd45d"
)

func newServer(t testing.TB) *server {
	const recorded = "../../../../../stage/kube/internal/codec/testdata/"
	patched, err := os.ReadFile(recorded + "pod.json")
	require.NoError(t, err)
	events, err := os.ReadFile(recorded + "watch.json")
	require.NoError(t, err)
	lines := bytes.Split(events, []byte("\n"))
	s := &server{added: lines[0], modified: lines[2], patched: patched, version: firstVersion, pods: map[string]podOfAnEvent{}, began: make(chan struct{}), running: make(chan struct{}, 1000)}
	s.more = sync.NewCond(&s.mu)
	return s
}

const firstVersion = 1000

// podOfAnEvent is the pod in an event of a watch.
type podOfAnEvent struct{ Object json.RawMessage }

// answers are the answers to requests that a client sends only once.
var answers = map[string]string{
	"GET /api":                         `{"kind": "APIVersions", "versions": ["v1"]}`,
	"GET /apis":                        `{"kind": "APIGroupList", "apiVersion": "v1", "groups": [{"name": "coordination.k8s.io", "versions": [{"groupVersion": "coordination.k8s.io/v1", "version": "v1"}]}]}`,
	"GET /api/v1":                      `{"kind": "APIResourceList", "groupVersion": "v1", "resources": [{"name": "pods", "kind": "Pod", "namespaced": true}, {"name": "nodes", "kind": "Node"}]}`,
	"GET /api/v1/nodes":                `{"kind": "NodeList", "apiVersion": "v1", "metadata": {"resourceVersion": "1000"}, "items": [{"metadata": {"name": "node-1", "uid": "n", "resourceVersion": "9"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}]}`,
	"GET /apis/coordination.k8s.io/v1": `{"kind": "APIResourceList", "groupVersion": "coordination.k8s.io/v1", "resources": [{"name": "leases", "kind": "Lease", "namespaced": true}]}`,
}

// RoundTrip answers a request.
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case r.Method == http.MethodPatch:
		return ok(r, bytes.NewReader(s.patch(r))), nil
	case r.Method == http.MethodPost: // a Lease
		return ok(r, r.Body), nil
	case r.URL.Query().Get("watch") != "":
		return ok(r, s.open(r)), nil
	case r.URL.Path == "/api/v1/pods":
		return ok(r, strings.NewReader(s.list())), nil
	}
	text, known := answers[r.Method+" "+r.URL.Path]
	if !known {
		return nil, fmt.Errorf("nobody expects %s %s", r.Method, r.URL)
	}
	return ok(r, strings.NewReader(text)), nil
}

func ok(r *http.Request, body io.Reader) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(body), Request: r}
}

// open opens a watch. It lasts as long as the request.
func (s *server) open(r *http.Request) io.Reader {
	body, w := io.Pipe()
	context.AfterFunc(r.Context(), func() {
		_ = w.CloseWithError(r.Context().Err())
		s.more.Broadcast()
	})
	if r.URL.Path == "/api/v1/pods" {
		from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
		go s.follow(r.Context(), w, from-firstVersion)
		s.begin.Do(func() { close(s.began) })
	}
	return body
}

// follow writes the events from one on.
func (s *server) follow(ctx context.Context, w io.Writer, next int) {
	for {
		s.mu.Lock()
		for next >= len(s.events) && ctx.Err() == nil {
			s.more.Wait()
		}
		news := s.events[min(next, len(s.events)):]
		s.mu.Unlock()
		next += len(news)
		for _, text := range news {
			_, _ = w.Write(text)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// list lists the pods.
func (s *server) list() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	items := make([]json.RawMessage, 0, len(s.pods))
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		items = append(items, s.pods[name].Object)
	}
	text, _ := json.Marshal(items)
	return fmt.Sprintf(`{"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "%d"}, "items": %s}`, s.version, text)
}

// happen notes an event of a pod. The caller holds the lock.
func (s *server) happen(recorded []byte, name string) {
	s.version++
	text := s.of(recorded, name)
	var pod podOfAnEvent
	if err := json.Unmarshal(text, &pod); err != nil {
		panic(err)
	}
	s.events, s.pods[name] = append(s.events, text), pod
	s.more.Broadcast()
}

// patch makes a pod run.
func (s *server) patch(r *http.Request) []byte {
	_, _ = io.Copy(io.Discard, r.Body)
	name := strings.Split(r.URL.Path, "/")[6]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.happen(s.modified, name)
	s.running <- struct{}{}
	return s.of(s.patched, name)
}

// create adds a pod.
func (s *server) create(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.happen(s.added, fmt.Sprintf("web-%08x-%05x", i, i))
}

// of changes a recorded text to that of another pod, now.
func (s *server) of(recorded []byte, name string) []byte {
	text := bytes.Replace(recorded, []byte(recordedName), []byte(name), 1)
	text = bytes.Replace(text, []byte(recordedUID), []byte(name), 1)
	for _, old := range []string{"206", "208"} {
		text = bytes.Replace(text, []byte(`"resourceVersion":"`+old+`"`), []byte(`"resourceVersion":"`+strconv.Itoa(s.version)+`"`), 1)
	}
	return text
}
