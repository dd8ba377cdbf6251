package hostile_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	jsonType   = "application/json"
	yamlType   = "application/yaml"
	applyType  = "application/apply-patch+yaml"
	mergeType  = "application/merge-patch+json"
	patchType  = "application/json-patch+json"
	mixedType  = "application/strategic-merge-patch+json"
	protobuf   = "application/vnd.kubernetes.protobuf"
	configMaps = "/api/v1/namespaces/hostile/configmaps"
	customs    = "/apis/hostile.io/v1/namespaces/hostile/things"
)

// A request is one of an attack. The body is made when it is sent.
type request struct {
	method, path, kind string
	body               func() string
	header             map[string]string
}

func text(s string) func() string { return func() string { return s } }

// An answer is that of a server, or that none came.
type answer struct {
	code int
	body []byte
	err  error
}

// A client sends requests with the token. It remembers what it has created. It has no t in the process of the probe.
type client struct {
	address
	t       testing.TB
	agent   string
	http    *http.Client
	mu      sync.Mutex
	created []string
}

func newClient(t testing.TB, a address, agent string) *client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(a.CA))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, MaxIdleConnsPerHost: 8, DisableCompression: true}
	return &client{address: a, t: t, agent: agent, http: &http.Client{Transport: transport, Timeout: 55 * time.Second}}
}

func (c *client) send(r request) answer { return c.sendWithin(context.Background(), r) }

func (c *client) sendWithin(ctx context.Context, r request) answer {
	var body io.Reader
	if r.body != nil {
		body = strings.NewReader(r.body())
	}
	q, err := http.NewRequestWithContext(ctx, r.method, c.URL+r.path, body)
	if err != nil {
		return answer{err: err}
	}
	q.Header.Set("Authorization", "Bearer "+c.Token)
	q.Header.Set("User-Agent", c.agent)
	if r.kind != "" {
		q.Header.Set("Content-Type", r.kind)
	}
	for name, value := range r.header {
		q.Header.Set(name, value)
	}
	response, err := c.http.Do(q)
	if err != nil {
		return answer{err: err}
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	a := answer{code: response.StatusCode, body: data, err: err}
	c.remember(r, a)
	return a
}

// remember notes the object that a request has created.
func (c *client) remember(r request, a answer) {
	if a.code != http.StatusCreated {
		return
	}
	path, _, _ := strings.Cut(r.path, "?")
	if r.method == http.MethodPost {
		var obj struct {
			Metadata struct{ Name string }
		}
		if json.Unmarshal(a.body, &obj) != nil || obj.Metadata.Name == "" {
			return
		}
		path += "/" + obj.Metadata.Name
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.created = append(c.created, path)
}

// cleanUp deletes what was created, the newest first.
func (c *client) cleanUp() {
	c.mu.Lock()
	created := c.created
	c.created = nil
	c.mu.Unlock()
	options := text(`{"propagationPolicy": "Background", "gracePeriodSeconds": 0}`)
	for i := len(created) - 1; i >= 0; i-- {
		a := c.send(request{method: "DELETE", path: created[i], kind: jsonType, body: options})
		if a.code == http.StatusOK && bytes.Contains(a.body, []byte(`"finalizers"`)) {
			c.send(request{method: "PATCH", path: created[i], kind: mergeType, body: text(`{"metadata": {"finalizers": null}}`)})
		}
	}
}

// post creates an object and returns its answer.
func (c *client) post(path, object string) answer {
	return c.send(request{method: "POST", path: path, kind: jsonType, body: text(object)})
}

func (c *client) patch(path, kind, body string) answer {
	return c.send(request{method: "PATCH", path: path, kind: kind, body: text(body)})
}

func (c *client) get(path string) answer { return c.send(request{method: "GET", path: path}) }

// inParallel calls a function n times, in a few goroutines.
func inParallel(n int, do func(i int)) {
	next := make(chan int)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

// object returns the object of an answer.
func (a answer) object() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(a.body, &u.Object); err != nil {
		u.Object = map[string]any{}
	}
	return u
}
