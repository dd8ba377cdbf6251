package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/remotecommand"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
)

// Wanted are the streams that a client asks for.
type Wanted struct{ Stdin, Stdout, Stderr, TTY bool }

// normal leaves out the standard error of a terminal, which has one output, as a kubelet does.
func (o Wanted) normal() (Wanted, error) {
	o.Stderr = o.Stderr && !o.TTY
	if !o.Stdin && !o.Stdout && !o.Stderr {
		return o, apierrors.NewBadRequest("you must specify at least 1 of stdin, stdout, stderr")
	}
	return o, nil
}

// A session is a connection for one command.
type session struct {
	stdin          *buffer   // nil: not wanted
	stdout, stderr io.Writer // nil: not wanted
	status         io.Writer
	resize         *buffer // nil: not wanted
	plain          bool    // the status is a text, and has no exit code
	left           <-chan struct{}
	close          func() // ends the connection, and all goroutines of the session
}

// Command upgrades a request and runs a command with the streams of its client. The function returns
// the exit code. Its context ends when the client leaves, or with the context of the call. An error
// of Command is one that must be answered: the request was not upgraded.
func Command(ctx context.Context, w http.ResponseWriter, r *http.Request, wanted Wanted, run func(context.Context, containers.Streams) (int, error)) error {
	wanted, err := wanted.normal()
	if err != nil {
		return err
	}
	if err := check(r); err != nil {
		return err
	}
	open := openSPDY
	if isWebSocket(r) {
		open = openWebSocket
	}
	return open(hijackable{w}, r, wanted, func(s *session) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(ctx, s.interrupt)()
		defer s.close()
		go func() {
			select {
			case <-s.left:
				cancel()
			case <-ctx.Done():
			}
		}()
		s.run(ctx, wanted, run)
	})
}

// run runs the command and tells the client how it ended.
func (s *session) run(ctx context.Context, wanted Wanted, run func(context.Context, containers.Streams) (int, error)) {
	given := containers.Streams{TTY: wanted.TTY, Stdout: orDiscard(s.stdout), Stderr: orDiscard(s.stderr)}
	if s.stdin != nil {
		given.Stdin = s.stdin
	}
	var sizes sync.WaitGroup
	if s.resize != nil {
		resize := make(chan containers.Size)
		given.Resize = resize
		sizes.Go(func() { readSizes(ctx, s.resize, resize) })
	}
	code, err := protected(ctx, given, run)
	if s.stdin != nil {
		_ = s.stdin.Close()
	}
	if s.resize != nil {
		_ = s.resize.Close()
	}
	_, _ = s.status.Write(s.statusOf(code, err)) // the client may have left
	s.close()
	sizes.Wait()
}

// interruptTime is how long a command may go on after its context has ended, before its client is
// cut off.
const interruptTime = 5 * time.Second

// interrupt ends the input of a command whose context has ended.
func (s *session) interrupt() {
	for _, b := range []*buffer{s.stdin, s.resize} {
		if b != nil {
			b.end(errLeft)
		}
	}
	time.AfterFunc(interruptTime, s.close)
}

// protected turns a panic of a command into its error.
func protected(ctx context.Context, s containers.Streams, run func(context.Context, containers.Streams) (int, error)) (code int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return run(ctx, s)
}

func orDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}

// statusOf returns how a command ended as the text on the stream for errors.
func (s *session) statusOf(code int, err error) []byte {
	status := metav1.Status{Status: metav1.StatusSuccess}
	switch {
	case err != nil:
		err = fmt.Errorf("error executing command in container: %w", err)
		status = apierrors.NewInternalError(err).Status()
	case code != 0:
		err = fmt.Errorf("command terminated with non-zero exit code: exit status %d", code)
		status = metav1.Status{Status: metav1.StatusFailure, Reason: remotecommand.NonZeroExitCodeReason, Message: err.Error(),
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: remotecommand.ExitCodeCauseType, Message: strconv.Itoa(code)}}}}
	}
	if s.plain {
		if err == nil {
			return nil
		}
		return []byte(err.Error())
	}
	data, _ := json.Marshal(status) // it has no value without JSON
	return data
}

// readSizes sends the sizes of a client's terminal until the client leaves or the command ends.
func readSizes(ctx context.Context, from io.Reader, to chan<- containers.Size) {
	defer close(to)
	decoder := json.NewDecoder(from)
	for {
		var size containers.Size
		if err := decoder.Decode(&size); err != nil {
			_, _ = io.Copy(io.Discard, from)
			return
		}
		select {
		case to <- size:
		case <-ctx.Done():
			return
		}
	}
}
