package apiserver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/websocket"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// shell is a few commands, as a database of a test has them.
func shell(ctx context.Context, _ containers.Container, c containers.Command) (int, error) {
	switch c.Argv[0] {
	case "cat":
		_, err := io.Copy(c.Stdout, c.Stdin)
		return 0, err
	case "fail":
		fmt.Fprintln(c.Stdout, "out")
		fmt.Fprintln(c.Stderr, "err")
		return 3, nil
	case "wait":
		fmt.Fprintln(c.Stdout, "waits")
		<-ctx.Done()
		return 0, ctx.Err()
	case "size":
		for size := range c.Resize {
			fmt.Fprintf(c.Stdout, "%dx%d\n", size.Width, size.Height)
			if size.Width == 2 {
				break
			}
		}
		return 0, nil
	case "panic":
		panic("broken")
	}
	return 0, errors.New("no such command")
}

// listen serves a lab with a running Pod p, whose container is c.
func listen(t *testing.T, o containers.Options) (*apiserver.Listener, *rest.Config) {
	t.Helper()
	return listenWith(t, o, podNamed("p"))
}

// listenWith serves a lab with a running Pod.
func listenWith(t *testing.T, o containers.Options, pod *corev1.Pod) (*apiserver.Listener, *rest.Config) {
	t.Helper()
	lab := labtest.New(t, labtest.Options{Containers: o})
	lab.Apply(pod)
	lab.WaitCurrent()
	listener, err := apiserver.Listen(lab.Cluster(), apiserver.ListenOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	return listener, listener.Config()
}

// executors are those of client-go.
var executors = map[string]func(*rest.Config, *url.URL) (remotecommand.Executor, error){
	"WebSocket": func(c *rest.Config, u *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewWebSocketExecutor(c, http.MethodGet, u.String())
	},
	"SPDY": func(c *rest.Config, u *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewSPDYExecutor(c, http.MethodPost, u)
	},
}

// execURL is the path of an exec with a command.
func execURL(t *testing.T, config *rest.Config, tty bool, stdin bool, command ...string) *url.URL {
	t.Helper()
	o := &corev1.PodExecOptions{Command: command, Stdin: stdin, Stdout: true, Stderr: !tty, TTY: tty}
	client := kubernetes.NewForConfigOrDie(config)
	return client.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("p").SubResource("exec").VersionedParams(o, scheme.ParameterCodec).URL()
}

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

// TestExec: client-go runs commands, by both of its protocols.
func TestExec(t *testing.T) {
	_, config := listen(t, containers.Options{Exec: shell})
	for name, newExecutor := range executors {
		run := func(o remotecommand.StreamOptions, command ...string) (string, string, error) {
			executor, err := newExecutor(config, execURL(t, config, o.Tty, o.Stdin != nil, command...))
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
			stdout, stderr, err := run(remotecommand.StreamOptions{}, "fail")
			var code exec.CodeExitError
			require.ErrorAs(t, err, &code)
			require.Equal(t, 3, code.Code)
			require.Equal(t, "out\n", stdout)
			require.Equal(t, "err\n", stderr)

			large := strings.Repeat("0123456789abcdef", 1<<17) // 2 MiB, and then the end of the input
			stdout, _, err = run(remotecommand.StreamOptions{Stdin: strings.NewReader(large)}, "cat")
			require.NoError(t, err)
			require.Equal(t, len(large), len(stdout))

			stdout, _, err = run(remotecommand.StreamOptions{Tty: true, TerminalSizeQueue: &sizes{{Width: 1, Height: 1}, {Width: 2, Height: 9}}}, "size")
			require.NoError(t, err)
			require.Equal(t, "1x1\n2x9\n", stdout)

			_, _, err = run(remotecommand.StreamOptions{}, "other")
			require.EqualError(t, err, "Internal error occurred: error executing command in container: no such command")
			_, _, err = run(remotecommand.StreamOptions{}, "panic")
			require.ErrorContains(t, err, "panic: broken")
		})
	}
}

// TestExecEndsWithItsClient: the context of a command ends when its client leaves.
func TestExecEndsWithItsClient(t *testing.T) {
	ended := make(chan error)
	_, config := listen(t, containers.Options{Exec: func(ctx context.Context, c containers.Container, command containers.Command) (int, error) {
		code, err := shell(ctx, c, command)
		ended <- err
		return code, err
	}})
	for name, newExecutor := range executors {
		executor, err := newExecutor(config, execURL(t, config, false, false, "wait"))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		out, in := io.Pipe()
		done, began := make(chan error, 1), make(chan error, 1)
		go func() {
			done <- executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: in, Stderr: io.Discard})
		}()
		text := make([]byte, 6)
		go func() {
			_, err := io.ReadFull(out, text)
			began <- err
		}()
		select {
		case err := <-began:
			require.NoError(t, err)
		case err := <-done:
			t.Fatal(err)
		}
		require.Equal(t, "waits\n", string(text))
		cancel()
		require.ErrorIs(t, <-done, context.Canceled, name)
		require.ErrorIs(t, <-ended, context.Canceled, name)
	}
}

// TestExecsLeaveNoGoroutine also not if their clients leave early, or the server is closed.
func TestExecsLeaveNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	listener, config := listen(t, containers.Options{Exec: shell})
	for i := range effort.Of(1000) {
		executor, err := executors[[]string{"WebSocket", "SPDY"}[i%2]](config, execURL(t, config, false, true, []string{"cat", "fail", "wait"}[i%3]))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		_ = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: strings.NewReader("x"), Stdout: stopAt{cancel}, Stderr: io.Discard})
		cancel()
	}
	require.NoError(t, listener.Close())
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+5 }, 10*time.Second, 10*time.Millisecond, "%d before", before)
}

// stopAt cancels a command that waits.
type stopAt struct{ cancel func() }

func (s stopAt) Write(p []byte) (int, error) {
	if string(p) == "waits\n" {
		s.cancel()
	}
	return len(p), nil
}

// TestClosingEndsExecs: Close of a listener ends its connections with containers.
func TestClosingEndsExecs(t *testing.T) {
	begun := make(chan struct{})
	listener, config := listen(t, containers.Options{Exec: func(ctx context.Context, _ containers.Container, _ containers.Command) (int, error) {
		close(begun)
		<-ctx.Done()
		return 0, ctx.Err()
	}})
	executor, err := executors["WebSocket"](config, execURL(t, config, false, false, "wait"))
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		done <- executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: io.Discard, Stderr: io.Discard})
	}()
	<-begun
	require.NoError(t, listener.Close())
	require.ErrorContains(t, <-done, "context canceled")
}

// TestPortForward: client-go forwards connections by SPDY, and by SPDY in a WebSocket.
func TestPortForward(t *testing.T) {
	_, config := listen(t, containers.Options{PortForward: func(_ context.Context, pod *unstructured.Unstructured, port int, client io.ReadWriter) error {
		if port != 80 {
			return fmt.Errorf("nothing listens on %d", port)
		}
		text := make([]byte, 4)
		if _, err := io.ReadFull(client, text); err != nil {
			return err
		}
		_, err := fmt.Fprintf(client, "%s of %s", text, pod.GetName())
		return err
	}})
	u := kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("p").SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(config)
	require.NoError(t, err)
	tunnel, err := portforward.NewSPDYOverWebsocketDialer(u, config)
	require.NoError(t, err)
	overSPDY := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, u)
	for name, dialer := range map[string]httpstream.Dialer{"SPDY": overSPDY, "WebSocket": tunnel} {
		t.Run(name, func(t *testing.T) {
			conn, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
			require.NoError(t, err)
			defer conn.Close()
			ask := func(id, port string) (answer, fault string) {
				header := http.Header{}
				header.Set(corev1.PortHeader, port)
				header.Set(corev1.PortForwardRequestIDHeader, id)
				header.Set(corev1.StreamType, corev1.StreamTypeError)
				faults, err := conn.CreateStream(header)
				require.NoError(t, err)
				require.NoError(t, faults.Close())
				header.Set(corev1.StreamType, corev1.StreamTypeData)
				data, err := conn.CreateStream(header)
				require.NoError(t, err)
				_, err = io.WriteString(data, "ping")
				require.NoError(t, err)
				text, err := io.ReadAll(data)
				require.NoError(t, err)
				why, err := io.ReadAll(faults)
				require.NoError(t, err)
				return string(text), string(why)
			}
			answer, fault := ask("1", "80")
			require.Equal(t, "ping of p", answer)
			require.Empty(t, fault)
			_, fault = ask("2", "81")
			require.Equal(t, "error forwarding port 81 to pod: nothing listens on 81", fault)
		})
	}
}

// TestLogsOfAServer: a log over HTTP, and what a client is told without one.
func TestLogsOfAServer(t *testing.T) {
	_, config := listen(t, containers.Options{Logs: func(_ context.Context, c containers.Container) (iter.Seq[containers.Line], error) {
		return containers.Lines("one", "two"), nil
	}})
	pods := kubernetes.NewForConfigOrDie(config).CoreV1().Pods("default")
	text, err := pods.GetLogs("p", &corev1.PodLogOptions{TailLines: new(int64(1))}).DoRaw(t.Context())
	require.NoError(t, err)
	require.Equal(t, "two\n", string(text))
	for want, o := range map[string]*corev1.PodLogOptions{
		"container x is not valid for pod p":                               {Container: "x"},
		`previous terminated container "c" in pod "p" not found`:           {Previous: true},
		"tailLines: Invalid value: -1: must be greater than or equal to 0": {TailLines: new(int64(-1))},
	} {
		_, err = pods.GetLogs("p", o).Stream(t.Context())
		require.ErrorContains(t, err, want)
	}
	_, config = listen(t, containers.Options{})
	_, err = kubernetes.NewForConfigOrDie(config).CoreV1().Pods("default").GetLogs("p", &corev1.PodLogOptions{}).Stream(t.Context())
	require.ErrorContains(t, err, `the log of container "c" in pod "p" is not simulated`)
	for name, newExecutor := range executors {
		executor, err := newExecutor(config, execURL(t, config, false, false, "x"))
		require.NoError(t, err)
		err = executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: io.Discard, Stderr: io.Discard})
		require.ErrorContains(t, err, `exec of container "c" in pod "p" is not simulated`, name)
	}
}

// TestLogsInVirtualTime: a client that follows a log gets each line when its time comes, and the end
// with the container. A command that takes an hour takes no time.
func TestLogsInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab := labtest.New(t, labtest.Options{Start: time.Now(), Sync: func(d time.Duration) { time.Sleep(d); synctest.Wait() },
			Containers: containers.Options{Exec: func(ctx context.Context, _ containers.Container, c containers.Command) (int, error) {
				time.Sleep(time.Hour)
				_, err := fmt.Fprint(c.Stdout, "slept")
				return 0, err
			}}})
		config := apiserver.Start(t, lab.Cluster(), apiserver.Options{})
		lab.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {restartPolicy: Never, containers: [
  {name: c, image: i, command: [sh, -c, "echo one; sleep 600; echo two; sleep 3600; echo three"]}]}}`)
		lab.Advance(time.Second)
		client := kubernetes.NewForConfigOrDie(config)
		log, err := client.CoreV1().Pods("default").GetLogs("p", &corev1.PodLogOptions{Follow: true}).Stream(t.Context())
		require.NoError(t, err)
		var text bytes.Buffer
		done := make(chan error)
		go func() {
			_, err := io.Copy(&text, log)
			done <- err
		}()
		synctest.Wait()
		require.Equal(t, "one\n", text.String())
		lab.Advance(605 * time.Second)
		lab.Advance(time.Second) // the reader of the log looks at the clock
		require.Equal(t, "one\ntwo\n", text.String())

		conn, err := config.Dial(t.Context(), "", "")
		require.NoError(t, err)
		o, err := websocket.NewConfig("ws://stagecraft.invalid/api/v1/namespaces/default/pods/p/exec?command=x&stdout=1", "http://stagecraft.invalid")
		require.NoError(t, err)
		o.Protocol = []string{"v4.channel.k8s.io"}
		ws, err := websocket.NewClient(o, conn)
		require.NoError(t, err)
		var message []byte
		require.NoError(t, websocket.Message.Receive(ws, &message))
		require.Equal(t, "\x01slept", string(message))
		require.NoError(t, websocket.Message.Receive(ws, &message))
		require.Equal(t, "\x03"+`{"metadata":{},"status":"Success"}`, string(message))
		require.NoError(t, ws.Close())

		lab.Advance(2 * time.Hour)
		lab.Advance(time.Second)
		require.NoError(t, <-done)
		require.Equal(t, "one\ntwo\nthree\n", text.String())
		_ = log.Close()
	})
}

// TestUsage: the API of metrics-server, for nodes and Pods, and a cluster without it.
func TestUsage(t *testing.T) {
	_, config := listen(t, containers.Options{Usage: func(c containers.Container, _ time.Time) (containers.Usage, error) {
		return containers.Usage{CPU: resource.MustParse("250m"), Memory: resource.MustParse("64Mi")}, nil
	}})
	client := kubernetes.NewForConfigOrDie(config)
	read := func(path string, header ...string) string {
		r := client.CoreV1().RESTClient().Get().RequestURI("/apis/metrics.k8s.io/v1beta1/" + path)
		if len(header) > 0 {
			r = r.SetHeader("Accept", header[0])
		}
		text, err := r.DoRaw(t.Context())
		require.NoError(t, err, string(text))
		return string(text)
	}
	require.JSONEq(t, `{"apiVersion":"metrics.k8s.io/v1beta1","kind":"PodMetrics","metadata":{"name":"p","namespace":"default","creationTimestamp":"2006-01-02T15:04:05Z","labels":{"topology.kubernetes.io/region":"lab","topology.kubernetes.io/zone":"lab-a"}},
		"timestamp":"2006-01-02T15:04:05Z","window":"15s","containers":[{"name":"c","usage":{"cpu":"250m","memory":"64Mi"}}]}`, read("namespaces/default/pods/p"))
	require.Contains(t, read("pods"), `"kind":"PodMetricsList"`)
	require.NotContains(t, read("pods?labelSelector=app"), "250m")
	require.NotContains(t, read("namespaces/other/pods"), "250m")
	nodes := read("nodes?labelSelector=kubernetes.io/hostname")
	require.Contains(t, nodes, `"usage":{"cpu":"250m","memory":"64Mi"}`)
	require.Contains(t, nodes, `"usage":{"cpu":"0","memory":"0"}`)
	require.Contains(t, read("pods", "application/json;as=Table;v=v1;g=meta.k8s.io"), `"cells":["p","250m","64Mi","15s"]`)
	_, err := client.CoreV1().RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/none").Do(t.Context()).Raw()
	require.True(t, apierrors.IsNotFound(err))
	groups, err := client.Discovery().ServerGroups()
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == "metrics.k8s.io" }))

	_, config = listen(t, containers.Options{})
	_, err = kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/nodes").Do(t.Context()).Raw()
	require.True(t, apierrors.IsNotFound(err))
}
