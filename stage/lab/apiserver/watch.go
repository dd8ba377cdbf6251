package apiserver

import (
	"net/http"
	"time"
)

// watchSeconds is how long a watch lasts for which the client sets no time. kube-apiserver draws it
// between this and twice as much.
const watchSeconds = 1800

// maxWrite is how long the write of an event may take: a client that does not read is told to go, so
// that its events are not kept.
const maxWrite = 2 * time.Minute

// watch answers with events until the client leaves or the time is up.
func (c *call) watch() error {
	o, err := c.listOptions()
	if err != nil {
		return err
	}
	if o.TimeoutSeconds == nil {
		o.TimeoutSeconds = new(int64(watchSeconds))
	}
	events, err := c.cluster.Watch(c.ctx, c.of.storage, c.namespace, o)
	if err != nil {
		return err
	}
	defer events.Stop()
	c.w.Header().Set("Content-Type", c.form.contentType("stream=watch"))
	if c.form.mediaType == jsonType {
		c.w.Header().Set("Content-Type", jsonType)
	}
	stream := http.NewResponseController(c.w)
	_ = stream.SetReadDeadline(time.Time{}) // it has been read; the client may be silent as long as it likes
	extend := func() { _ = stream.SetWriteDeadline(time.Now().Add(maxWrite)) }
	extend()
	c.w.WriteHeader(http.StatusOK)
	if err := stream.Flush(); err != nil {
		return nil // the client has gone
	}
	writing := turn{of: c.server.turns}
	isFirst := true
	for e := range events.ResultChan() {
		extend()
		data, err := c.marshalEvent(e, isFirst)
		if err != nil {
			return nil // the answer has begun: all that can be done is to end it
		}
		writing.begin()
		if _, err = c.w.Write(data); err == nil {
			err = stream.Flush()
		}
		writing.end()
		if err != nil {
			return nil
		}
		isFirst = false
	}
	return nil
}
