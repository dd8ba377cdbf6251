package kube_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/kube"
)

var (
	pods = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	web  = types.NamespacedName{Namespace: "wire", Name: "web-7c5ddbdf54-2x8kq"}
)

const podsPath = "/api/v1/namespaces/wire/pods"

// framed is an object as it is, or as the event of a watch if the request is for a watch.
func framed(r *http.Request, object []byte, marshal func(metav1.WatchEvent) ([]byte, error)) []byte {
	if r.URL.Query().Get("watch") == "" {
		return object
	}
	event, _ := marshal(metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: object}})
	if event[0] == '{' {
		return event
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(event))), event...)
}

// A server answers as a recorded kube-apiserver did.
type server struct {
	*httptest.Server
	protobuf    []byte // a Pod, for clients that accept protobuf
	mu          sync.Mutex
	requests    []*http.Request
	connections int
}

func newServer(t *testing.T) *server {
	s := &server{}
	pod, err := os.ReadFile("internal/codec/testdata/pod.json")
	require.NoError(t, err)
	answers := map[string][]byte{
		"/api":                    []byte(`{"kind":"APIVersions","versions":["v1"]}`),
		"/apis":                   []byte(`{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`),
		"/api/v1":                 []byte(`{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["get","patch"]}]}`),
		podsPath + "/" + web.Name: pod,
	}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, r)
		w.Header().Set("Content-Type", "application/json")
		pod := answers[podsPath+"/"+web.Name]
		switch {
		case !strings.HasPrefix(r.URL.Path, podsPath):
			w.Write(answers[r.URL.Path])
		case s.protobuf != nil && strings.HasPrefix(r.Header.Get("Accept"), "application/vnd.kubernetes.protobuf"):
			w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
			w.Write(framed(r, s.protobuf, func(e metav1.WatchEvent) ([]byte, error) { return e.Marshal() }))
		default:
			w.Write(framed(r, pod, func(e metav1.WatchEvent) ([]byte, error) { return json.Marshal(e) }))
		}
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
	const discovery = 3 // two for the kinds, one for their resources
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

const acceptsProtobuf, acceptsJSON = "application/vnd.kubernetes.protobuf,application/json", "application/json"

// protobufPod is the recorded Pod as protobuf, with some more bytes at its end.
func protobufPod(t *testing.T, more string) []byte {
	t.Helper()
	text, err := os.ReadFile("internal/codec/testdata/pod.json")
	require.NoError(t, err)
	var pod corev1.Pod
	require.NoError(t, json.Unmarshal(text, &pod))
	message, err := pod.Marshal()
	require.NoError(t, err)
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: append(message, more...)}
	data, err := envelope.Marshal()
	require.NoError(t, err)
	return append([]byte("k8s\x00"), data...)
}

// TestFieldsOfLaterVersionsAreNotLost has a server that sends a field in protobuf which no Go type
// has. Each kind of request gets its answer in JSON, and so do all after it.
func TestFieldsOfLaterVersionsAreNotLost(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*kube.Cluster) (*unstructured.Unstructured, error)
		want []string // methods and the content types that they accept
	}{
		"get": {
			func(c *kube.Cluster) (*unstructured.Unstructured, error) { return c.Get(t.Context(), pods, web) },
			[]string{"GET " + acceptsProtobuf, "GET " + acceptsJSON},
		},
		"patch, which is not repeated": {
			func(c *kube.Cluster) (*unstructured.Unstructured, error) { return patch(t.Context(), c) },
			[]string{"PATCH " + acceptsProtobuf, "GET " + acceptsJSON},
		},
		"dry run, which is": {
			func(c *kube.Cluster) (*unstructured.Unstructured, error) {
				return c.Patch(t.Context(), pods, web, types.MergePatchType, []byte("{}"), metav1.PatchOptions{DryRun: []string{"All"}})
			},
			[]string{"PATCH " + acceptsProtobuf, "PATCH " + acceptsJSON},
		},
		"update of the status": {
			func(c *kube.Cluster) (*unstructured.Unstructured, error) {
				return c.Update(t.Context(), object(pods, web.Namespace, web.Name), metav1.UpdateOptions{}, "status")
			},
			[]string{"PUT " + acceptsProtobuf, "GET " + acceptsJSON},
		},
		"create": {
			func(c *kube.Cluster) (*unstructured.Unstructured, error) {
				return c.Create(t.Context(), object(pods, web.Namespace, ""), metav1.CreateOptions{})
			},
			[]string{"POST " + acceptsProtobuf, "GET " + acceptsJSON},
		},
		"watch, after an error": {
			func(c *kube.Cluster) (*unstructured.Unstructured, error) {
				require.Equal(t, watch.Error, firstEvent(t, c).Type)
				obj, ok := firstEvent(t, c).Object.(*unstructured.Unstructured)
				require.True(t, ok)
				return obj, nil
			},
			[]string{"GET " + acceptsProtobuf, "GET " + acceptsJSON},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.protobuf = protobufPod(t, "\xfa\x07\x03abc")
			cluster := s.open(t, rest.Config{}, kube.Options{})
			obj, err := c.do(cluster)
			require.NoError(t, err)
			require.Equal(t, web.Name, obj.GetName())
			_, err = cluster.Get(t.Context(), pods, web)
			require.NoError(t, err)
			require.Equal(t, append(c.want, "GET "+acceptsJSON), s.ofPods())
		})
	}
}

// ofPods are the requests for Pods: their methods, and the content types that they accept.
func (s *server) ofPods() (requests []string) {
	for _, r := range s.requests {
		if strings.Contains(r.URL.Path, "/pods") {
			requests = append(requests, r.Method+" "+strings.TrimSuffix(r.Header.Get("Accept"), ";stream=watch"))
		}
	}
	return requests
}

func firstEvent(t *testing.T, c *kube.Cluster) watch.Event {
	t.Helper()
	changes, err := c.Watch(t.Context(), pods, web.Namespace, metav1.ListOptions{})
	require.NoError(t, err)
	defer changes.Stop()
	return <-changes.ResultChan()
}

func TestProtobufIsReadWhereNothingIsLost(t *testing.T) {
	s := newServer(t)
	s.protobuf = protobufPod(t, "")
	c := s.open(t, rest.Config{}, kube.Options{})
	for range 2 {
		obj, err := patch(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, web.Name, obj.GetName())
	}
	require.Equal(t, []string{"PATCH " + acceptsProtobuf, "PATCH " + acceptsProtobuf}, s.ofPods())
}

func TestABadConfigurationIsAnError(t *testing.T) {
	_, err := kube.NewForConfig(&rest.Config{Host: "localhost", TLSClientConfig: rest.TLSClientConfig{CAFile: "/does/not/exist"}})
	require.Error(t, err)
	_, err = kube.NewForConfig(&rest.Config{Host: "::not a host"})
	require.Error(t, err)
}
