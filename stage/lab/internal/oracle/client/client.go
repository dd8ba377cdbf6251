package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Options of [Config]. The zero value is the default.
type Options struct {
	// Create creates an object instead of the cluster, for work that an API server does first.
	Create func(context.Context, *unstructured.Unstructured, metav1.CreateOptions) (*unstructured.Unstructured, error)
	// Delay is the time after which a watch reports a change of an object. Default: no delay.
	Delay func(*unstructured.Unstructured) time.Duration
	// Pause is the time that each write takes, one after another. It is needed because the names of
	// Events are times, and time stops in a bubble. Writes of one instant are made in the order of
	// their texts. Default: none, writes are made in any order. The client answers a write after
	// another pause: in a bubble, all watchers have seen the write by then.
	Pause time.Duration
	// Request and Response change the bodies of requests and responses. Default: they do not.
	Request, Response func([]byte) []byte
}

// Config returns a configuration for clients of a cluster, without a rate limit.
func Config(c *memory.Cluster, o Options) *rest.Config {
	if o.Create == nil {
		o.Create = c.Create
	}
	if o.Delay == nil {
		o.Delay = func(*unstructured.Unstructured) time.Duration { return 0 }
	}
	unchanged := func(b []byte) []byte { return b }
	if o.Request == nil {
		o.Request = unchanged
	}
	if o.Response == nil {
		o.Response = unchanged
	}
	content := rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"}
	return &rest.Config{Host: "http://memory", QPS: -1, ContentConfig: content, Transport: &transport{cluster: c, options: o, turns: turns{pause: o.Pause}}}
}

// A transport answers requests from a cluster.
type transport struct {
	cluster *memory.Cluster
	options Options
	turns   turns
}

// A call is a request for an object, or for the objects of a kind.
type call struct {
	*http.Request
	kind        schema.GroupVersionKind
	name        types.NamespacedName
	subresource []string
	body        []byte
}

var errUnknown = errors.New("not a request that package client knows")

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	c, err := t.read(r)
	if err != nil {
		return t.answer(r, nil, err)
	}
	if r.Method == http.MethodGet && c.name.Name == "" && r.URL.Query().Get("watch") != "" {
		return t.watch(c)
	}
	if r.Method != http.MethodGet {
		t.turns.wait(r.Method + " " + r.URL.Path + " " + string(c.body))
	}
	obj, err := t.do(c)
	if r.Method != http.MethodGet {
		time.Sleep(t.options.Pause) // in a bubble, until all watchers have seen the write
	}
	return t.answer(r, obj, err)
}

func (t *transport) read(r *http.Request) (*call, error) {
	c := &call{Request: r}
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var gv schema.GroupVersion
	switch {
	case len(path) > 2 && path[0] == "api":
		gv.Version, path = path[1], path[2:]
	case len(path) > 3 && path[0] == "apis":
		gv.Group, gv.Version, path = path[1], path[2], path[3:]
	default:
		return nil, apierrors.NewBadRequest(errUnknown.Error() + ": " + r.URL.Path)
	}
	if len(path) > 2 && path[0] == "namespaces" {
		c.name.Namespace, path = path[1], path[2:]
	}
	if len(path) > 1 {
		c.name.Name, c.subresource = path[1], path[2:]
	}
	for _, k := range t.cluster.Kinds() {
		if k.Resource == path[0] && k.GroupVersion() == gv {
			c.kind = k.GroupVersionKind
		}
	}
	if c.kind.Empty() {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: gv.Group, Resource: path[0]}, c.name.Name)
	}
	return c, t.readBody(c)
}

func (t *transport) readBody(c *call) (err error) {
	if c.Body == nil {
		return nil
	}
	defer func() { _ = c.Body.Close() }()
	c.body, err = io.ReadAll(c.Body)
	c.body = t.options.Request(c.body)
	c.name.Name = string(t.options.Request([]byte(c.name.Name)))
	return err
}

// do carries out a request for an object or a list.
func (t *transport) do(c *call) (json.Marshaler, error) {
	ctx := c.Context()
	switch {
	case c.Method == http.MethodGet && c.name.Name == "":
		return list(t.cluster.List(ctx, c.kind, c.name.Namespace, c.listOptions()))
	case c.Method == http.MethodGet:
		return one(t.cluster.Get(ctx, c.kind, c.name))
	case c.Method == http.MethodPost:
		return c.write(func(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			return t.options.Create(ctx, obj, metav1.CreateOptions{FieldManager: "theirs"})
		})
	case c.Method == http.MethodPut:
		return c.write(func(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			return t.cluster.Update(ctx, obj, metav1.UpdateOptions{FieldManager: "theirs"}, c.subresource...)
		})
	case c.Method == http.MethodPatch:
		return one(t.cluster.Patch(ctx, c.kind, c.name, types.PatchType(c.Header.Get("Content-Type")), c.body, metav1.PatchOptions{FieldManager: "theirs"}, c.subresource...))
	case c.Method == http.MethodDelete && c.name.Name != "":
		return t.remove(c)
	}
	return nil, apierrors.NewBadRequest(errUnknown.Error() + ": " + c.Method + " " + c.URL.Path)
}

// write reads the object of a request and writes it.
func (c *call) write(do func(*unstructured.Unstructured) (*unstructured.Unstructured, error)) (json.Marshaler, error) {
	obj := &unstructured.Unstructured{}
	if err := json.Unmarshal(c.body, &obj.Object); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	obj.Object = integers(obj.Object).(map[string]any)
	obj.SetGroupVersionKind(c.kind)
	if c.name.Namespace != "" {
		obj.SetNamespace(c.name.Namespace)
	}
	return one(do(obj))
}

// integers has whole numbers as an API server has them.
func integers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = integers(x)
		}
	case []any:
		for i, x := range v {
			v[i] = integers(x)
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}

func (t *transport) remove(c *call) (json.Marshaler, error) {
	var o metav1.DeleteOptions
	if len(c.body) > 0 {
		if err := json.Unmarshal(c.body, &o); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	if err := t.cluster.Delete(c.Context(), c.kind, c.name, o); err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Success"}}, nil
}

func one(obj *unstructured.Unstructured, err error) (json.Marshaler, error) { return obj, err }

func list(l *unstructured.UnstructuredList, err error) (json.Marshaler, error) { return l, err }

func (c *call) listOptions() (o metav1.ListOptions) {
	if err := scheme.ParameterCodec.DecodeParameters(c.URL.Query(), schema.GroupVersion{Version: "v1"}, &o); err != nil {
		panic(err) // client-go has written them
	}
	return o
}

// answer makes a response of an object or an error.
func (t *transport) answer(r *http.Request, obj json.Marshaler, err error) (*http.Response, error) {
	code := http.StatusOK
	var data []byte
	if err != nil {
		status := apierrors.NewInternalError(err).Status()
		if known := apierrors.APIStatus(nil); errors.As(err, &known) {
			status = known.Status()
		}
		status.Kind, status.APIVersion = "Status", "v1"
		code = int(status.Code)
		data, err = json.Marshal(status)
	} else {
		data, err = obj.MarshalJSON()
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.URL, err)
	}
	return respond(r, code, io.NopCloser(bytes.NewReader(t.options.Response(data)))), nil
}

func respond(r *http.Request, code int, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: body, ContentLength: -1, Request: r,
	}
}
