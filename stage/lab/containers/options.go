package containers

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// LogsPrefix is the part of an annotation key before the name of a container. The annotation of the
// Pod has the lines that the container prints when it starts.
const LogsPrefix = "logs.stagecraft-go.github.io/"

// UsagePrefix is the part of an annotation key before cpu or memory: what the Pod uses, such as 250m,
// all of it by its first container. With NAME.container. before it, it is what the container NAME
// uses.
const UsagePrefix = "metrics.stagecraft-go.github.io/"

// Window is over how long usage is measured, as metrics-server says it with its defaults.
const Window = 15 * time.Second

// ErrNotSimulated is the error of a function of [Options] that has nothing to say about a container,
// and of a request that nothing answers. errors.Is finds it.
var ErrNotSimulated = errors.New("not simulated")

// ErrEnded is the error of a connection whose Pod has ended. errors.Is finds it.
var ErrEnded = errors.New("it has ended")

// Options are the functions that say what containers do. The zero value simulates nothing but
// annotations. The functions must not change the objects that they get. Any of them may return
// [ErrNotSimulated], which a request reports as if the function was missing.
type Options struct {
	// Logs returns the lines that a run of a container prints from its start on, in the order of
	// their times. The sequence may be endless: it is read up to the present, and further when a
	// client follows. It must not wait for lines: a line of the future has its Time. Every request
	// calls Logs again and must get the same lines. Default: the annotation of [LogsPrefix].
	Logs func(context.Context, Container) (iter.Seq[Line], error)
	// Exec runs a command in a container and returns its exit code, 0 to 255. The context ends when
	// the client leaves, and when the container ends: an error is then the exit code 137. Otherwise an
	// error means that the command could not run at all.
	Exec func(context.Context, Container, Command) (code int, err error)
	// Attach connects a client with the process of a container until the context ends, which it does
	// with the container, or until the process or the client has nothing more to say. Streams.Stdin is
	// empty if the container has no stdin in its spec. Default: the lines of Logs, from now on.
	Attach func(context.Context, Container, Streams) error
	// PortForward connects a client with a port of a Pod until the connection ends, or the context,
	// which ends when the Pod does. The caller closes
	// the connection after the call. An error is shown to the client, which may connect again.
	PortForward func(ctx context.Context, pod *unstructured.Unstructured, port int, client io.ReadWriter) error
	// Usage returns what a container that runs uses at a time, if the annotations of [UsagePrefix] do
	// not say it. A server has the API metrics.k8s.io only if Usage is set: [Annotated] is for
	// annotations alone. An error leaves the Pod out of lists and sums. Clients get the error as a
	// warning, and as the answer to a request for the Pod.
	Usage func(c Container, now time.Time) (Usage, error)
	// Kubelet returns what answers the other paths of a Node's kubelet. A client reads them through
	// the proxy of a server; /metrics/resource and /stats/summary are those of Usage. Nil, or a nil
	// handler: the server refuses the request.
	Kubelet func(NodeUsage) http.Handler

	maxLines int // of a log until now; 0: maxLogLines
}

// A Container is one run of a container.
type Container struct {
	// Pod is the Pod as it is now. It is shared and must not be changed.
	Pod *unstructured.Unstructured
	// Name is the name of the container, which may be an init container.
	Name string
	// Run is how often the container was started before.
	Run int
	// Started and Ended are the times of this run, in whole seconds. Ended is zero while it runs.
	Started, Ended time.Time
	// Previous is set if the container has been started again since.
	Previous bool
}

// A Line is a line of a log.
type Line struct {
	// Time is when the container prints the line. The zero time is that of the line before, or the
	// start of the container.
	Time time.Time
	// Text is the line without its end. A text with ends of lines in it counts as several lines.
	Text string
	// Stderr is set for a line on the standard error.
	Stderr bool
}

// Streams connect a client with a process.
type Streams struct {
	// Stdin ends with io.EOF when the client closes it, and at once if the client sends nothing. A
	// function gets no nil stream.
	Stdin io.Reader
	// Stdout and Stderr take what the process writes. With a terminal, Stderr has no reader.
	Stdout, Stderr io.Writer
	// TTY is set if the client wants a terminal.
	TTY bool
	// Resize has the sizes of the terminal of the client: the first one, and each change. It is
	// closed when the client leaves. Nil without a terminal.
	Resize <-chan Size
}

// A Size is the size of a terminal in characters.
type Size struct{ Width, Height uint16 }

// A Command is a command that a client runs in a container.
type Command struct {
	// Argv are the words of the command, at least one. No shell splits them.
	Argv []string
	Streams
}

// Usage is what a container uses.
type Usage struct {
	// CPU is in cores, from 0 to 1e6. Memory is the working set in bytes, from 0 to 1e15.
	CPU, Memory resource.Quantity
	// Time is when it was measured, and not in the future. Default: the time of the request.
	Time time.Time
	// CPUSeconds is how many core-seconds the container has used since it started, from 0 to 1e15.
	// Default: a [Meter] adds up CPU.
	CPUSeconds float64
}

// Lines returns the lines that a container prints at its start, for a function of Options.Logs.
func Lines(texts ...string) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		for _, text := range texts {
			if !yield(Line{Text: text}) {
				return
			}
		}
	}
}
