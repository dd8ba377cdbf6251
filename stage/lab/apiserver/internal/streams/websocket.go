package streams

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/remotecommand"
)

// commandProtocols are the subprotocols of a WebSocket, the best first. A client that names none has
// the first version.
var commandProtocols = []string{
	remotecommand.StreamProtocolV5Name, remotecommand.StreamProtocolV4Name, "v4.base64.channel.k8s.io",
	remotecommand.StreamProtocolV1Name, "base64.channel.k8s.io", "",
}

// channels are the streams of a command in a WebSocket: each message begins with the number of its
// stream.
type channels struct {
	ws      *websocket.Conn
	encoded bool // in base64
	closes  bool // the client can close a stream
	input   [5]*buffer
	writing sync.Mutex
	over    chan struct{}
}

// openWebSocket upgrades a request to a WebSocket and serves its session.
func openWebSocket(w http.ResponseWriter, r *http.Request, wanted Wanted, serve func(*session)) error {
	protocol, err := chosen(r, commandProtocols)
	if err != nil {
		return err
	}
	websocketServer(protocol, func(ws *websocket.Conn) {
		c := &channels{ws: ws, over: make(chan struct{}), encoded: strings.Contains(protocol, "base64"), closes: protocol == remotecommand.StreamProtocolV5Name}
		serve(c.session(wanted, !strings.HasPrefix(protocol, "v")))
		<-c.over
	}).ServeHTTP(w, r)
	return nil
}

// websocketServer serves one connection. Any origin may connect: it has the token of a client.
func websocketServer(protocol string, serve func(*websocket.Conn)) websocket.Server {
	return websocket.Server{
		Handshake: func(config *websocket.Config, _ *http.Request) error {
			config.Protocol = nil
			if protocol != "" {
				config.Protocol = []string{protocol}
			}
			return nil
		},
		Handler: func(ws *websocket.Conn) {
			ws.MaxPayloadBytes, ws.PayloadType = maxMessage, websocket.BinaryFrame
			serve(ws)
		},
	}
}

// chosen returns the first subprotocol of a client that is supported.
func chosen(r *http.Request, supported []string) (string, error) {
	asked := []string{}
	for _, header := range r.Header.Values("Sec-Websocket-Protocol") {
		for name := range strings.SplitSeq(header, ",") {
			asked = append(asked, strings.TrimSpace(name))
		}
	}
	if len(asked) == 0 {
		asked = append(asked, "")
	}
	for _, name := range asked {
		if slices.Contains(supported, name) {
			return name, nil
		}
	}
	return "", apierrors.NewBadRequest(fmt.Sprintf("requested protocol(s) are not supported: %v; supports %v", asked, supported))
}

func (c *channels) session(wanted Wanted, plain bool) *session {
	s := &session{status: c.output(remotecommand.StreamErr), plain: plain, left: c.over}
	s.close = sync.OnceFunc(func() { _ = c.ws.Close() })
	if wanted.Stdin {
		s.stdin = newBuffer()
		c.input[remotecommand.StreamStdIn] = s.stdin
	}
	if wanted.TTY {
		s.resize = newBuffer()
		c.input[remotecommand.StreamResize] = s.resize
	}
	if wanted.Stdout {
		s.stdout = c.output(remotecommand.StreamStdOut)
	}
	if wanted.Stderr {
		s.stderr = c.output(remotecommand.StreamStdErr)
	}
	for _, stream := range []int{remotecommand.StreamStdOut, remotecommand.StreamStdErr, remotecommand.StreamErr} {
		if plain { // clients of the first version expect an empty message of each stream
			_, _ = c.output(byte(stream)).Write(nil)
		}
	}
	go c.receive()
	return s
}

// receive takes in the messages of the client until it leaves.
func (c *channels) receive() {
	defer close(c.over)
	err := errLeft
	for {
		_ = c.ws.SetReadDeadline(time.Now().Add(idleTime))
		var message []byte
		if failed := websocket.Message.Receive(c.ws, &message); failed != nil {
			if errors.Is(failed, io.EOF) {
				err = io.EOF
			}
			break
		}
		c.take(message)
	}
	_ = c.ws.Close()
	for _, b := range c.input {
		if b != nil {
			b.end(err)
		}
	}
}

// take gives a message to its stream. Messages of unknown streams are ignored, as in a kubelet.
func (c *channels) take(message []byte) {
	if len(message) == 0 {
		return
	}
	stream, data := message[0], message[1:]
	if c.closes && stream == remotecommand.StreamClose {
		if len(data) == 1 && int(data[0]) < len(c.input) && c.input[data[0]] != nil {
			c.input[data[0]].end(io.EOF)
		}
		return
	}
	if c.encoded {
		stream -= '0'
		decoded, err := base64.StdEncoding.DecodeString(string(data))
		if err != nil {
			return
		}
		data = decoded
	}
	if int(stream) < len(c.input) && c.input[stream] != nil {
		_, _ = c.input[stream].Write(data)
	}
}

func (c *channels) output(stream byte) io.Writer { return output{c, stream} }

// An output is a stream to the client.
type output struct {
	*channels
	stream byte
}

// Write sends a message.
func (o output) Write(p []byte) (int, error) {
	message := append([]byte{o.stream}, p...)
	o.writing.Lock()
	defer o.writing.Unlock()
	_ = o.ws.SetWriteDeadline(time.Now().Add(idleTime))
	var err error
	if o.encoded {
		err = websocket.Message.Send(o.ws, string('0'+rune(o.stream))+base64.StdEncoding.EncodeToString(p))
	} else {
		err = websocket.Message.Send(o.ws, message)
	}
	if err != nil {
		return 0, errLeft
	}
	return len(p), nil
}
