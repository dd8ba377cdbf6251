package streaming

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	theirs "k8s.io/cri-streaming/pkg/streaming"
	remotecommandserver "k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// command is what runs in the container of both servers.
func command(argv []string, in io.Reader, out, stderr io.Writer, size func() string) (code int, err error) {
	switch argv[0] {
	case "cat":
		_, err = io.Copy(out, in)
	case "fail":
		fmt.Fprint(out, "out")
		fmt.Fprint(stderr, "err")
		code = 3
	case "size":
		fmt.Fprint(out, size())
	case "quiet":
	default:
		err = errors.New("no such command")
	}
	return code, err
}

// runtime is the container runtime of their server.
type runtime struct{}

func (runtime) Exec(_ context.Context, _ string, argv []string, in io.Reader, out, stderr io.WriteCloser, _ bool, resize <-chan remotecommandserver.TerminalSize) error {
	code, err := command(argv, in, out, stderr, func() string {
		s := <-resize
		return fmt.Sprint(s.Width, "x", s.Height)
	})
	if code != 0 {
		return utilexec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", code), Code: code}
	}
	return err
}

func (runtime) Attach(_ context.Context, _ string, in io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan remotecommandserver.TerminalSize) error {
	_, err := io.Copy(out, in)
	return err
}

func (runtime) PortForward(context.Context, string, int32, io.ReadWriteCloser) error {
	return errors.New("not compared")
}

// A request is one of a client.
type request struct {
	attach bool
	argv   []string
	stdin  string // "": none
	tty    bool
}

// outcome is what a client sees.
type outcome struct{ stdout, stderr, err string }

// sizes are those of a terminal.
type sizes []remotecommand.TerminalSize

func (s *sizes) Next() *remotecommand.TerminalSize {
	if len(*s) == 0 {
		return nil
	}
	next := (*s)[0]
	*s = (*s)[1:]
	return &next
}

func (r request) stream(t *testing.T, executor remotecommand.Executor) (o outcome) {
	var stdout, stderr bytes.Buffer
	options := remotecommand.StreamOptions{Stdout: &stdout, Tty: r.tty}
	if r.stdin != "" {
		options.Stdin = strings.NewReader(r.stdin)
	}
	if r.tty {
		options.TerminalSizeQueue = &sizes{{Width: 80, Height: 24}}
	} else {
		options.Stderr = &stderr
	}
	err := executor.StreamWithContext(t.Context(), options)
	return outcome{stdout.String(), stderr.String(), fmt.Sprint(err)}
}

// byTheirs has their server answer, by SPDY.
func (r request) byTheirs(t *testing.T, server theirs.Server) outcome {
	var location string
	if r.attach {
		answer, err := server.GetAttach(&runtimeapi.AttachRequest{ContainerId: "c", Stdin: r.stdin != "", Stdout: true, Stderr: !r.tty, Tty: r.tty})
		require.NoError(t, err)
		location = answer.Url
	} else {
		answer, err := server.GetExec(&runtimeapi.ExecRequest{ContainerId: "c", Cmd: r.argv, Stdin: r.stdin != "", Stdout: true, Stderr: !r.tty, Tty: r.tty})
		require.NoError(t, err)
		location = answer.Url
	}
	at, err := url.Parse(location)
	require.NoError(t, err)
	executor, err := remotecommand.NewSPDYExecutor(&rest.Config{}, http.MethodPost, at)
	require.NoError(t, err)
	return r.stream(t, executor)
}

// byOurs has our server answer, by a protocol.
func (r request) byOurs(t *testing.T, config *rest.Config, isSPDY bool) outcome {
	post := kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("p")
	if r.attach {
		post = post.SubResource("attach").VersionedParams(&corev1.PodAttachOptions{Stdin: r.stdin != "", Stdout: true, Stderr: !r.tty, TTY: r.tty}, scheme.ParameterCodec)
	} else {
		post = post.SubResource("exec").VersionedParams(&corev1.PodExecOptions{Command: r.argv, Stdin: r.stdin != "", Stdout: true, Stderr: !r.tty, TTY: r.tty}, scheme.ParameterCodec)
	}
	executor, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, post.URL().String())
	if isSPDY {
		executor, err = remotecommand.NewSPDYExecutor(config, http.MethodPost, post.URL())
	}
	require.NoError(t, err)
	return r.stream(t, executor)
}

// TestSameStreams: a client sees the same outputs, codes and errors.
func TestSameStreams(t *testing.T) {
	listener := httptest.NewUnstartedServer(nil)
	config := theirs.DefaultConfig
	config.Addr = listener.Listener.Addr().String()
	server, err := theirs.NewServer(config, runtime{})
	require.NoError(t, err)
	listener.Config.Handler = server
	listener.Start()
	t.Cleanup(listener.Close)

	lab := labtest.New(t, labtest.Options{Containers: containers.Options{
		Exec: func(_ context.Context, _ containers.Container, c containers.Command) (int, error) {
			return command(c.Argv, c.Stdin, c.Stdout, c.Stderr, func() string {
				s := <-c.Resize
				return fmt.Sprint(s.Width, "x", s.Height)
			})
		},
		Attach: func(_ context.Context, _ containers.Container, s containers.Streams) error {
			_, err := io.Copy(s.Stdout, s.Stdin)
			return err
		},
	}})
	lab.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i, stdin: true}]}}`)
	lab.WaitCurrent()
	ours, err := apiserver.Listen(lab.Cluster(), apiserver.ListenOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ours.Close()) })

	for _, r := range []request{
		{argv: []string{"fail"}}, {argv: []string{"quiet"}}, {argv: []string{"cat"}, stdin: "x"}, {argv: []string{"cat"}, stdin: strings.Repeat("0123456789abcdef", 1<<16)},
		{argv: []string{"size"}, tty: true}, {argv: []string{"cat"}, stdin: "x", tty: true}, {argv: []string{"unknown", "words"}}, {attach: true, stdin: "input"},
	} {
		want := r.byTheirs(t, server)
		require.Equal(t, want, r.byOurs(t, ours.Config(), true), "SPDY: %v", r.argv)
		require.Equal(t, want, r.byOurs(t, ours.Config(), false), "WebSocket: %v", r.argv)
	}
}
