package apiserver

import (
	"context"
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/streams"
	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
)

// maxStreams is how many clients may be connected with containers at a time.
const maxStreams = 2000

// log answers with the log of a container.
func (c *call) log() error {
	var o corev1.PodLogOptions
	if err := c.parameters(&o); err != nil {
		return err
	}
	log, err := containers.Of(c.cluster).Logs(c.ctx, c.key(), logOptions(o))
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "text/plain")
	out := newTextWriter(c.w)
	if err := out.begin(); err != nil {
		return nil // the client has gone
	}
	_, _ = log.WriteTo(out) // the answer has begun: all that can be done is to end it
	return nil
}

// parameters decodes the parameters of a request into options of the core group.
func (c *call) parameters(into runtime.Object) error {
	if err := scheme.ParameterCodec.DecodeParameters(c.query, corev1.SchemeGroupVersion, into); err != nil {
		return badRequest("%v", err)
	}
	return nil
}

func logOptions(o corev1.PodLogOptions) containers.LogOptions {
	to := containers.LogOptions{Container: o.Container, Follow: o.Follow, Previous: o.Previous, Timestamps: o.Timestamps,
		SinceSeconds: o.SinceSeconds, TailLines: o.TailLines, LimitBytes: o.LimitBytes}
	if o.SinceTime != nil {
		to.SinceTime = &o.SinceTime.Time
	}
	if o.Stream != nil {
		to.Stream = *o.Stream
	}
	return to
}

// A textWriter writes an answer that can take long.
type textWriter struct {
	http.ResponseWriter
	stream *http.ResponseController
}

func newTextWriter(w http.ResponseWriter) *textWriter {
	return &textWriter{w, http.NewResponseController(w)}
}

// begin sends the headers.
func (w *textWriter) begin() error {
	_ = w.stream.SetReadDeadline(time.Time{}) // it has been read; the client may be silent as long as it likes
	w.WriteHeader(http.StatusOK)
	return w.Flush()
}

// Write gives the client maxWrite to read.
func (w *textWriter) Write(p []byte) (int, error) {
	_ = w.stream.SetWriteDeadline(time.Now().Add(maxWrite))
	return w.ResponseWriter.Write(p)
}

// Flush sends what was written.
func (w *textWriter) Flush() error {
	_ = w.stream.SetWriteDeadline(time.Now().Add(maxWrite))
	return w.stream.Flush()
}

// exec runs a command in a container.
func (c *call) exec() error {
	var o corev1.PodExecOptions
	if err := c.parameters(&o); err != nil {
		return err
	}
	run, err := containers.Of(c.cluster).Exec(c.ctx, c.key(), o.Container)
	if err != nil {
		return err
	}
	if len(o.Command) == 0 {
		return badRequest("you must specify at least one command for the container")
	}
	wanted := streams.Wanted{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, TTY: o.TTY}
	return c.connect(func(ctx context.Context) error {
		return streams.Command(ctx, c.w, c.r, wanted, func(ctx context.Context, s containers.Streams) (int, error) {
			return run(ctx, containers.Command{Argv: o.Command, Streams: s})
		})
	})
}

// attach connects the client with the process of a container.
func (c *call) attach() error {
	var o corev1.PodAttachOptions
	if err := c.parameters(&o); err != nil {
		return err
	}
	attach, err := containers.Of(c.cluster).Attach(c.ctx, c.key(), o.Container)
	if err != nil {
		return err
	}
	wanted := streams.Wanted{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, TTY: o.TTY}
	return c.connect(func(ctx context.Context) error {
		return streams.Command(ctx, c.w, c.r, wanted, func(ctx context.Context, s containers.Streams) (int, error) {
			return 0, attach(ctx, s)
		})
	})
}

// portForward connects the client with ports of a Pod.
func (c *call) portForward() error {
	forward, err := containers.Of(c.cluster).PortForward(c.ctx, c.key())
	if err != nil {
		return err
	}
	return c.connect(func(ctx context.Context) error {
		return streams.Ports(ctx, c.w, c.r, func(ctx context.Context, port int, client io.ReadWriter) error {
			return forward(ctx, port, client)
		})
	})
}

// connect serves streams until they end, or the server does.
func (c *call) connect(serve func(context.Context) error) error {
	ctx, end, err := c.connections.begin(c.ctx)
	if err != nil {
		return err
	}
	defer end()
	return serve(ctx)
}

// tooManyStreams is the answer when maxStreams clients are connected.
func tooManyStreams() error {
	return apierrors.NewTooManyRequests("too many clients are connected with containers, please try again later", 1)
}
