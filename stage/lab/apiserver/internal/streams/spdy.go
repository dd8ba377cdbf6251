package streams

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/apimachinery/pkg/util/httpstream/spdy"
	"k8s.io/apimachinery/pkg/util/remotecommand"
)

// openSPDY upgrades a request to SPDY, waits until the client has created its streams, and serves
// its session.
func openSPDY(w http.ResponseWriter, r *http.Request, wanted Wanted, serve func(*session)) error {
	protocol, err := negotiated(w, r, remotecommand.SupportedStreamingProtocols)
	if err != nil {
		return err
	}
	created := make(chan httpstream.Stream)
	over := make(chan struct{})
	defer close(over)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, replied <-chan struct{}) error {
		go func() {
			<-replied
			select {
			case created <- stream:
			case <-over:
			}
		}()
		return nil
	})
	if conn == nil {
		return nil // it has been answered
	}
	closeConn := sync.OnceFunc(func() { _ = conn.Close() })
	defer closeConn()
	conn.SetIdleTimeout(idleTime)
	s, err := await(conn, wanted, protocol, created)
	if err != nil {
		return nil // the client has nothing to read the error from
	}
	left := make(chan struct{})
	go func() {
		<-conn.CloseChan()
		close(left)
	}()
	s.left, s.close = left, closeConn
	serve(s)
	closeConn()
	<-left
	return nil
}

// negotiated chooses the protocol within SPDY.
func negotiated(w http.ResponseWriter, r *http.Request, supported []string) (string, error) {
	protocol, err := httpstream.Handshake(r, discardErrors{w}, supported)
	if err != nil {
		return "", apierrors.NewBadRequest(err.Error())
	}
	return protocol, nil
}

// discardErrors leaves the answer to an error to the server.
type discardErrors struct{ http.ResponseWriter }

func (discardErrors) WriteHeader(int)             {}
func (discardErrors) Write(p []byte) (int, error) { return len(p), nil }

// expects returns how many streams a client creates.
func (o Wanted) expects(protocol string) int {
	n := 1 // of errors
	for _, wanted := range []bool{o.Stdin, o.Stdout, o.Stderr, o.TTY && (protocol == remotecommand.StreamProtocolV3Name || protocol == remotecommand.StreamProtocolV4Name)} {
		if wanted {
			n++
		}
	}
	return n
}

// await waits for the streams of a client.
func await(conn httpstream.Connection, wanted Wanted, protocol string, created <-chan httpstream.Stream) (*session, error) {
	s := &session{plain: protocol != remotecommand.StreamProtocolV4Name}
	timer := time.NewTimer(creationTime)
	defer timer.Stop()
	for range wanted.expects(protocol) {
		select {
		case stream := <-created:
			if err := s.add(stream); err != nil {
				return nil, err
			}
		case <-conn.CloseChan():
			return nil, errLeft
		case <-timer.C:
			return nil, fmt.Errorf("timed out waiting for client to create streams")
		}
	}
	if s.status == nil {
		return nil, fmt.Errorf("the client has created no stream for errors")
	}
	return s, nil
}

// add adds a stream to a session.
func (s *session) add(stream httpstream.Stream) error {
	switch kind := stream.Headers().Get(corev1.StreamType); kind {
	case corev1.StreamTypeError:
		s.status = stream
	case corev1.StreamTypeStdin:
		s.stdin = inputOf(stream)
	case corev1.StreamTypeStdout:
		s.stdout = stream
	case corev1.StreamTypeStderr:
		s.stderr = stream
	case corev1.StreamTypeResize:
		s.resize = inputOf(stream)
	default:
		return fmt.Errorf("unexpected stream type: %q", kind)
	}
	return nil
}

// inputOf copies what a client sends into a buffer, until the stream or the connection ends.
func inputOf(stream io.Reader) *buffer {
	b := newBuffer()
	go func() {
		_, err := io.Copy(b, stream)
		if err == nil {
			err = io.EOF
		}
		b.end(err)
	}()
	return b
}
