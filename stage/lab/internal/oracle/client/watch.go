package client

import (
	"encoding/json"
	"io"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// watch answers with the events of a watch, until the client goes away.
func (t *transport) watch(c *call) (*http.Response, error) {
	w, err := t.cluster.Watch(c.Context(), c.kind, c.name.Namespace, c.listOptions())
	if err != nil {
		return t.answer(c.Request, nil, err)
	}
	body, events := io.Pipe()
	go func() {
		defer w.Stop()
		_ = events.CloseWithError(t.send(events, w))
	}()
	return respond(c.Request, http.StatusOK, watchBody{body, w}), nil
}

// send writes events, each after a delay, until the watch or the reader ends.
func (t *transport) send(to io.Writer, w watch.Interface) error {
	for e := range w.ResultChan() {
		if obj, ok := e.Object.(*unstructured.Unstructured); ok && e.Type != watch.Bookmark {
			time.Sleep(t.options.Delay(obj))
		}
		data, err := json.Marshal(struct {
			Type   watch.EventType `json:"type"`
			Object any             `json:"object"`
		}{e.Type, e.Object})
		if err != nil {
			return err
		}
		if _, err := to.Write(append(t.options.Response(data), '\n')); err != nil {
			return err
		}
	}
	return io.EOF
}

// A watchBody ends its watch when it is closed.
type watchBody struct {
	*io.PipeReader
	watch watch.Interface
}

func (b watchBody) Close() error {
	b.watch.Stop()
	return b.PipeReader.Close()
}
