package apiserver

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A talk is a connection to a server with the timeouts of a listener.
type talk struct {
	net.Conn
	in *bufio.Reader
}

// answer reads the head of an answer.
func (c talk) answer(t *testing.T) *http.Response {
	response, err := http.ReadResponse(c.in, nil)
	require.NoError(t, err)
	return response
}

// lasts returns how long the server keeps the connection.
func (c talk) lasts(begin time.Time) time.Duration {
	_, _ = io.Copy(io.Discard, c.in)
	return time.Since(begin)
}

// inBubble calls a function with a cluster, and what opens connections to its server, in virtual
// time.
func inBubble(t *testing.T, test func(t *testing.T, c *memory.Cluster, open func(string) talk)) {
	synctest.Test(t, func(t *testing.T) {
		c := memory.New(memory.Options{})
		handler, err := New(c, Options{maxTime: maxTime})
		require.NoError(t, err)
		p, server := newPipe(), newServer(handler)
		go func() { _ = server.Serve(p) }()
		defer server.Close()
		test(t, c, func(data string) talk {
			conn, err := p.dial(t.Context(), "", "")
			require.NoError(t, err)
			go func() { _, _ = io.WriteString(conn, data) }()
			return talk{conn, bufio.NewReader(conn)}
		})
	})
}

// TestConnectionsEnd checks how long a listener waits for clients that do not go on.
func TestConnectionsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		data string
		want time.Duration
	}{
		"nothing":        {"", 10 * time.Second},
		"half a header":  {"GET /version HTTP/1.1\r\nHost: x\r\nX-A: ", 10 * time.Second},
		"half a body":    {"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{", maxTime},
		"endless chunks": {"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", maxTime},
		"an idle client": {"GET /version HTTP/1.1\r\nHost: x\r\n\r\n", 3 * time.Minute},
		"a body unasked": {"GET /version HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{", 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, _ *memory.Cluster, open func(string) talk) {
				begin := time.Now()
				require.InDelta(t, c.want, open(c.data).lasts(begin), float64(time.Second))
			})
		})
	}
}

// TestWatchesOutliveTheTimeouts checks that a silent watch goes on for half an hour, and that one
// whose client has stopped reading ends.
func TestWatchesOutliveTheTimeouts(t *testing.T) {
	const head = " HTTP/1.1\r\nHost: x\r\n\r\n"
	inBubble(t, func(t *testing.T, c *memory.Cluster, open func(string) talk) {
		watch := open("GET /api/v1/configmaps?watch=1&resourceVersion=" + versionNow(t, c) + head)
		require.Equal(t, http.StatusOK, watch.answer(t).StatusCode)
		time.Sleep(20 * time.Minute)
		create(t, c, "a")
		line, err := watch.in.ReadString('\n') // the length of the chunk
		require.NoError(t, err)
		require.NotEmpty(t, strings.TrimSpace(line))
		begin := time.Now()
		require.InDelta(t, 10*time.Minute, watch.lasts(begin), float64(time.Minute))
	})
	inBubble(t, func(t *testing.T, c *memory.Cluster, open func(string) talk) {
		watch := open("GET /api/v1/configmaps?watch=1" + head)
		require.Equal(t, http.StatusOK, watch.answer(t).StatusCode)
		begin := time.Now()
		for _, name := range []string{"a", "b", "c"} { // a pipe has no buffer
			create(t, c, name)
		}
		time.Sleep(maxWrite + time.Second)
		synctest.Wait()
		create(t, c, "d")
		rest, err := io.ReadAll(watch.in)
		require.NotContains(t, string(rest), `"name":"d"`)
		require.NoError(t, err)
		require.InDelta(t, maxWrite, time.Since(begin), float64(2*time.Second))
	})
}

func versionNow(t *testing.T, c *memory.Cluster) string {
	list, err := c.List(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "", metav1.ListOptions{})
	require.NoError(t, err)
	return list.GetResourceVersion()
}

func create(t *testing.T, c *memory.Cluster, name string) {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "default"}}}
	_, err := c.Create(context.Background(), u, metav1.CreateOptions{})
	require.NoError(t, err)
}
