// Package streams has the server's side of connections with several streams: remote commands, by
// WebSocket and SPDY, and port forwarding, by SPDY and by SPDY within a WebSocket. Clients are those
// of client-go; other programs use the WebSocket.
package streams

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/httpstream"
)

// These limits are those of a kubelet, unless a comment says otherwise.
const (
	// creationTime is how long a client may take to create its streams.
	creationTime = 30 * time.Second
	// idleTime is after what time a connection without data ends.
	idleTime = 4 * time.Hour
	// maxMessage is the size of a message of a WebSocket; clients send at most 32 KiB. It is our own.
	maxMessage = 1 << 20
	// maxUnread is how much of its input a command may leave unread before the client has to wait. It
	// is our own: as long as the client does not wait, its end is noticed.
	maxUnread = 1 << 20
	// maxForwards is how many connections one client forwards at a time. It is our own.
	maxForwards = 1000
)

// hijackable lets packages that know only http.Hijacker take over a connection whose
// http.ResponseWriter is wrapped.
type hijackable struct{ http.ResponseWriter }

func (w hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		_ = conn.SetDeadline(time.Time{}) // of the listener, for requests
	}
	return conn, buffered, err
}

// Unwrap returns the writer of the server.
func (w hijackable) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// check reports what a request for streams lacks.
func check(r *http.Request) error {
	if !httpstream.IsUpgradeRequest(r) {
		return apierrors.NewBadRequest("Upgrade request required")
	}
	if r.ProtoMajor != 1 {
		return apierrors.NewBadRequest(fmt.Sprintf("%s cannot be upgraded: use HTTP/1.1", r.Proto))
	}
	return nil
}

func isWebSocket(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// errLeft ends the input of a command whose client has left.
var errLeft = errors.New("the client has left")
