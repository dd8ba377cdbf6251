package apiserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/streams"
	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
)

// maxStreams is how many clients may be connected with containers at a time.
const maxStreams = 2000

// log answers with the log of a container.
func (c *call) log() error {
	o, err := c.logOptions()
	if err != nil {
		return err
	}
	log, err := containers.Of(c.cluster).Logs(c.ctx, c.key(), o)
	if err != nil {
		return err
	}
	out := newTextWriter(c.w)
	_, err = log.WriteTo(out)
	switch {
	case err == nil:
		_ = out.Flush() // the client may have left
		return nil
	case errors.Is(c.ctx.Err(), context.Canceled): // it has left
		return nil
	case !out.begun:
		return err
	}
	panic(http.ErrAbortHandler) // the client must not take the beginning for the whole
}

// logOptions reads the parameters of a request, whose names are those of PodLogOptions.
func (c *call) logOptions() (o containers.LogOptions, err error) {
	o = containers.LogOptions{Container: c.query.Get("container"), Stream: c.query.Get("stream"),
		Follow: isTrue(c.query, "follow"), Previous: isTrue(c.query, "previous"), Timestamps: isTrue(c.query, "timestamps")}
	for name, into := range map[string]**int64{"sinceSeconds": &o.SinceSeconds, "tailLines": &o.TailLines, "limitBytes": &o.LimitBytes} {
		text := c.query.Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return o, badRequest("%s: %q is not a whole number", name, text)
		}
		*into = &n
	}
	if text := c.query.Get("sinceTime"); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return o, badRequest("sinceTime: %q is not a time as in RFC 3339", text)
		}
		o.SinceTime = &at
	}
	return o, nil
}

// wanted returns the streams that a request asks for.
func (c *call) wanted() streams.Wanted {
	return streams.Wanted{Stdin: isTrue(c.query, "stdin"), Stdout: isTrue(c.query, "stdout"), Stderr: isTrue(c.query, "stderr"), TTY: isTrue(c.query, "tty")}
}

// A textWriter writes an answer that can take long.
type textWriter struct {
	http.ResponseWriter
	stream *http.ResponseController
	begun  bool
}

func newTextWriter(w http.ResponseWriter) *textWriter {
	return &textWriter{ResponseWriter: w, stream: http.NewResponseController(w)}
}

// begin writes the headers, once.
func (w *textWriter) begin() {
	if w.begun {
		return
	}
	w.begun = true
	_ = w.stream.SetReadDeadline(time.Time{}) // it has been read; the client may be silent as long as it likes
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusOK)
}

// Write gives the client maxWrite to read.
func (w *textWriter) Write(p []byte) (int, error) {
	w.begin()
	_ = w.stream.SetWriteDeadline(time.Now().Add(maxWrite))
	return w.ResponseWriter.Write(p)
}

// Flush sends what was written.
func (w *textWriter) Flush() error {
	w.begin()
	_ = w.stream.SetWriteDeadline(time.Now().Add(maxWrite))
	return w.stream.Flush()
}

// exec runs a command in a container.
func (c *call) exec() error {
	run, err := containers.Of(c.cluster).Exec(c.ctx, c.key(), c.query.Get("container"))
	if err != nil {
		return err
	}
	argv := c.query["command"]
	if err := containers.CheckArgv(argv); err != nil {
		return err
	}
	return c.connect(func(ctx context.Context) error {
		return streams.Command(ctx, c.w, c.r, c.wanted(), func(ctx context.Context, s containers.Streams) (int, error) {
			return run(ctx, containers.Command{Argv: argv, Streams: s})
		})
	})
}

// attach connects the client with the process of a container.
func (c *call) attach() error {
	attach, err := containers.Of(c.cluster).Attach(c.ctx, c.key(), c.query.Get("container"))
	if err != nil {
		return err
	}
	return c.connect(func(ctx context.Context) error {
		return streams.Command(ctx, c.w, c.r, c.wanted(), func(ctx context.Context, s containers.Streams) (int, error) {
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
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		return streams.Ports(ctx, c.w, c.r, func(ctx context.Context, port int, client io.ReadWriter) error {
			err := forward(ctx, port, client)
			if errors.Is(err, containers.ErrEnded) {
				cancel()
			}
			return err
		})
	})
}

// connect serves streams until they end, or the server does.
func (c *call) connect(serve func(context.Context) error) error {
	ctx, end, err := c.server.connections.begin(c.ctx, c.r.URL.Path)
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
