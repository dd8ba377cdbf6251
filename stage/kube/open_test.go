package kube_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/kube"
)

var (
	pods = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	web  = types.NamespacedName{Namespace: "wire", Name: "web-7c5ddbdf54-2x8kq"}
)

// A server answers as a recorded kube-apiserver did.
type server struct {
	*httptest.Server
	version     string // what it answers to /version
	mu          sync.Mutex
	requests    []*http.Request
	connections int
}

func newServer(t *testing.T) *server {
	s := &server{version: `{"major":"1","minor":"36"}`}
	pod, err := os.ReadFile("internal/codec/testdata/pod.json")
	require.NoError(t, err)
	answers := map[string][]byte{
		"/api":    []byte(`{"kind":"APIVersions","versions":["v1"]}`),
		"/apis":   []byte(`{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`),
		"/api/v1": []byte(`{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["get","patch"]}]}`),
		"/api/v1/namespaces/wire/pods/" + web.Name: pod,
	}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, r)
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/version" {
			if s.version == "" {
				w.WriteHeader(http.StatusForbidden)
			}
			w.Write([]byte(s.version))
			return
		}
		w.Write(answers[r.URL.Path])
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if state == http.StateNew {
			s.connections++
		}
	}
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *server) open(t *testing.T, config rest.Config, o kube.Options) *kube.Cluster {
	t.Helper()
	config.Host, config.Insecure = s.URL, true
	c, err := kube.Open(&config, o)
	require.NoError(t, err)
	return c
}

type patcher interface {
	Patch(context.Context, schema.GroupVersionKind, types.NamespacedName, types.PatchType, []byte, metav1.PatchOptions, ...string) (*unstructured.Unstructured, error)
}

func patch(ctx context.Context, w patcher) (*unstructured.Unstructured, error) {
	return w.Patch(ctx, pods, web, types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
}

func TestPlayersSeeLeanObjects(t *testing.T) {
	s := newServer(t)
	managed := func(obj *unstructured.Unstructured, err error) bool {
		require.NoError(t, err)
		require.Equal(t, web.Name, obj.GetName())
		return len(obj.GetManagedFields()) > 0
	}
	c := s.open(t, rest.Config{}, kube.Options{})
	require.True(t, managed(c.Get(t.Context(), pods, web)))
	require.True(t, managed(patch(t.Context(), c)))
	require.True(t, managed(patch(t.Context(), c.As("jane"))))
	player := c.Share()
	require.False(t, managed(player.Get(t.Context(), pods, web)))
	require.False(t, managed(patch(t.Context(), player)))
	require.False(t, managed(patch(t.Context(), player.(*kube.Cluster).As("jane"))))

	player = s.open(t, rest.Config{}, kube.Options{KeepMetadata: true}).Share()
	require.True(t, managed(player.Get(t.Context(), pods, web)))
}

func TestUsersShareConnections(t *testing.T) {
	s := newServer(t)
	c := s.open(t, rest.Config{}, kube.Options{})
	for _, user := range []string{"jane", "joe", "jane"} {
		_, err := patch(t.Context(), c.As(user))
		require.NoError(t, err)
		require.Equal(t, user, s.requests[len(s.requests)-1].Header.Get("Impersonate-User"))
	}
	require.Same(t, c.As("jane"), c.As("jane"))
	_, err := patch(t.Context(), c.Share())
	require.NoError(t, err)
	last := s.requests[len(s.requests)-1]
	require.Empty(t, last.Header.Get("Impersonate-User"))
	require.Empty(t, last.Header.Get("Accept-Encoding"), "compressing what stays on the machine")
	require.Equal(t, 2, s.connections, "one for what is read, one for what is written by one after another")
}

func TestWritesHaveConnectionsOfTheirOwn(t *testing.T) {
	for _, c := range []struct {
		wanted         []string
		reads, written string
	}{
		{nil, "HTTP/2.0", "HTTP/1.1"},
		{[]string{"h2"}, "HTTP/2.0", "HTTP/2.0"},
		{[]string{"http/1.1"}, "HTTP/1.1", "HTTP/1.1"},
	} {
		s := newServer(t)
		wrapped := 0
		config := rest.Config{TLSClientConfig: rest.TLSClientConfig{NextProtos: c.wanted}, BearerToken: "secret", WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			wrapped++
			return next
		}}
		cluster := s.open(t, config, kube.Options{})
		for _, w := range []patcher{cluster, cluster.Share(), cluster.As("jane")} {
			_, err := patch(t.Context(), w)
			require.NoError(t, err)
			require.Equal(t, c.written, s.requests[len(s.requests)-1].Proto, c.wanted)
		}
		require.Equal(t, 2, wrapped, "once for the user of the configuration, once for jane")
		_, err := cluster.Get(t.Context(), pods, web)
		require.NoError(t, err)
		require.Equal(t, c.reads, s.requests[len(s.requests)-1].Proto, c.wanted)
		for _, r := range s.requests {
			require.Equal(t, "Bearer secret", r.Header.Get("Authorization"))
		}
	}
}

func TestTheLimitIsOneForAll(t *testing.T) {
	s := newServer(t)
	const discovery = 4 // two for the kinds, one for their resources, one for the version
	c := s.open(t, rest.Config{QPS: 1e-6, Burst: discovery + 3}, kube.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	player := c.Share()
	for _, w := range []patcher{c, player, c.As("jane")} {
		_, err := patch(ctx, w)
		require.NoError(t, err)
	}
	require.Len(t, s.requests, discovery+3)
	_, err := patch(ctx, player)
	require.ErrorContains(t, err, "rate limiter")
}

// A server of a later version has fields whose names it says in JSON only.
func TestProtobufIsAskedForOfKnownVersions(t *testing.T) {
	const binary, text = "application/vnd.kubernetes.protobuf,application/json", "application/json"
	for version, accepted := range map[string]string{
		`{"major":"1","minor":"30"}`: binary, `{"major":"1","minor":"36+"}`: binary, `{"major":"1","minor":"37"}`: binary,
		`{"major":"1","minor":"38"}`: text, `{"major":"2","minor":"1"}`: text, `{"major":"1","minor":"x"}`: text, "": text,
	} {
		s := newServer(t)
		s.version = version
		c := s.open(t, rest.Config{}, kube.Options{})
		for range 2 {
			_, err := patch(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, accepted, s.requests[len(s.requests)-1].Header.Get("Accept"), version)
		}
		asked := slices.DeleteFunc(slices.Clone(s.requests), func(r *http.Request) bool { return r.URL.Path != "/version" })
		require.Len(t, asked, 1, version)
	}
}

func TestTheKnownVersionIsThatOfTheTypes(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	require.Regexp(t, `k8s.io/api v0\.37\.`, string(mod), "the constant minor, and this test, are to follow")
}

func TestABadConfigurationIsAnError(t *testing.T) {
	_, err := kube.NewForConfig(&rest.Config{Host: "localhost", TLSClientConfig: rest.TLSClientConfig{CAFile: "/does/not/exist"}})
	require.Error(t, err)
	_, err = kube.NewForConfig(&rest.Config{Host: "::not a host"})
	require.Error(t, err)
}
