package apiserver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
)

// attachURL is the path of an attach with the streams of a client.
func attachURL(config *rest.Config, o remotecommand.StreamOptions) *url.URL {
	attach := &corev1.PodAttachOptions{Container: "c", Stdin: o.Stdin != nil, Stdout: true, Stderr: !o.Tty, TTY: o.Tty}
	return kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("p").SubResource("attach").
		VersionedParams(attach, scheme.ParameterCodec).URL()
}

// process prints a line for each line that it reads, also on the standard error without a terminal, and
// ends with its input.
func process(_ context.Context, c containers.Container, s containers.Streams) error {
	if s.TTY {
		size := <-s.Resize
		fmt.Fprintf(s.Stdout, "%dx%d\n", size.Width, size.Height)
	}
	text, err := io.ReadAll(s.Stdin)
	if len(text) == 0 {
		return errors.New("no input")
	}
	fmt.Fprintf(s.Stdout, "%s of %s: %s", c.Name, c.Pod.GetName(), text)
	if !s.TTY {
		fmt.Fprint(s.Stderr, "ends")
	}
	return err
}

// TestAttach: client-go attaches to a process, by both of its protocols: input with its end, both outputs,
// a terminal, and errors.
func TestAttach(t *testing.T) {
	pod := podNamed("p")
	pod.Spec.Containers[0].Stdin = true
	_, config := listenWith(t, containers.Options{Attach: process}, pod)
	for name, newExecutor := range executors {
		attach := func(o remotecommand.StreamOptions) (string, string, error) {
			executor, err := newExecutor(config, attachURL(config, o))
			require.NoError(t, err)
			var stdout, stderr bytes.Buffer
			o.Stdout = &stdout
			if !o.Tty {
				o.Stderr = &stderr
			}
			err = executor.StreamWithContext(t.Context(), o)
			return stdout.String(), stderr.String(), err
		}
		t.Run(name, func(t *testing.T) {
			stdout, stderr, err := attach(remotecommand.StreamOptions{Stdin: strings.NewReader("input")})
			require.NoError(t, err)
			require.Equal(t, "c of p: input", stdout)
			require.Equal(t, "ends", stderr)
			stdout, _, err = attach(remotecommand.StreamOptions{Stdin: strings.NewReader("x"), Tty: true, TerminalSizeQueue: &sizes{{Width: 80, Height: 24}}})
			require.NoError(t, err)
			require.Equal(t, "80x24\nc of p: x", stdout)
			_, _, err = attach(remotecommand.StreamOptions{})
			require.ErrorContains(t, err, "no input")
		})
	}
	_, config = listen(t, containers.Options{Attach: process})
	o := remotecommand.StreamOptions{Stdin: strings.NewReader("input"), Stdout: io.Discard, Stderr: io.Discard}
	executor, err := executors["WebSocket"](config, attachURL(config, o))
	require.NoError(t, err)
	require.ErrorContains(t, executor.StreamWithContext(t.Context(), o), "no input", "a container without stdin")
}

// A counter counts what is written.
type counter struct{ bytes atomic.Int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.bytes.Add(int64(len(p)))
	return len(p), nil
}

// TestAttachIsTheLog: without Attach a client reads what the container prints from then on, until the
// client leaves.
func TestAttachIsTheLog(t *testing.T) {
	_, config := listen(t, containers.Options{Logs: func(_ context.Context, c containers.Container) (iter.Seq[containers.Line], error) {
		return containers.Lines("before"), nil
	}})
	for name, newExecutor := range executors {
		executor, err := newExecutor(config, attachURL(config, remotecommand.StreamOptions{}))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		var stdout counter // the client's copying goroutine outlives the call
		err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &stdout, Stderr: io.Discard})
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded, name)
		require.Zero(t, stdout.bytes.Load(), name)
	}
	_, config = listen(t, containers.Options{})
	for name, newExecutor := range executors {
		executor, err := newExecutor(config, attachURL(config, remotecommand.StreamOptions{}))
		require.NoError(t, err)
		err = executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: io.Discard, Stderr: io.Discard})
		require.ErrorContains(t, err, `attach of container "c" in pod "p" is not simulated`, name)
	}
}
