package apiserver_test

import (
	"context"
	"io"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// deletePod deletes the Pod of listen at once.
func deletePod(t *testing.T, config *rest.Config) {
	t.Helper()
	require.NoError(t, kubernetes.NewForConfigOrDie(config).CoreV1().Pods("default").Delete(t.Context(), "p", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
}

// TestExecEndsWithItsPod: a command whose Pod goes ends as one that a kubelet kills; an attached client is let go.
func TestExecEndsWithItsPod(t *testing.T) {
	for name, newExecutor := range executors {
		t.Run(name, func(t *testing.T) {
			began := make(chan bool, 2)
			_, config := listen(t, containers.Options{
				Exec: func(ctx context.Context, _ containers.Container, _ containers.Command) (int, error) {
					began <- true
					<-ctx.Done()
					return 0, ctx.Err()
				},
				Attach: func(ctx context.Context, _ containers.Container, _ containers.Streams) error {
					began <- true
					<-ctx.Done()
					return ctx.Err()
				},
			})
			o := remotecommand.StreamOptions{Stdout: io.Discard, Stderr: io.Discard}
			command, err := newExecutor(config, execURL(t, config, false, false, "wait"))
			require.NoError(t, err)
			attached, err := newExecutor(config, attachURL(config, o))
			require.NoError(t, err)
			ended, left := make(chan error, 1), make(chan error, 1)
			go func() { ended <- command.StreamWithContext(t.Context(), o) }()
			go func() { left <- attached.StreamWithContext(t.Context(), o) }()
			<-began
			<-began
			deletePod(t, config)
			var code exec.CodeExitError
			require.ErrorAs(t, <-ended, &code)
			require.Equal(t, 137, code.Code)
			require.NoError(t, <-left)
		})
	}
}

// TestAFailingLogIsNoSuccess: the client gets an error, also after the beginning of the log.
func TestAFailingLogIsNoSuccess(t *testing.T) {
	lab := labtest.New(t, labtest.Options{Containers: containers.Options{Logs: func(_ context.Context, c containers.Container) (iter.Seq[containers.Line], error) {
		return func(yield func(containers.Line) bool) {
			if !yield(containers.Line{Text: "begins"}) || c.Name == "later" && !yield(containers.Line{Text: "goes on", Time: c.Started.Add(time.Hour)}) {
				return
			}
			panic("broken")
		}, nil
	}}})
	lab.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: now, image: i}, {name: later, image: i}]}}`)
	lab.WaitCurrent()
	listener, err := apiserver.Listen(lab.Cluster(), apiserver.ListenOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	pods := kubernetes.NewForConfigOrDie(listener.Config()).CoreV1().Pods("default")

	for _, follow := range []bool{false, true} {
		_, err := pods.GetLogs("p", &corev1.PodLogOptions{Container: "now", Follow: follow}).Stream(t.Context())
		require.ErrorContains(t, err, "panic of the function Logs: broken")
	}
	log, err := pods.GetLogs("p", &corev1.PodLogOptions{Container: "later", Follow: true}).Stream(t.Context())
	require.NoError(t, err)
	begin := make([]byte, len("begins"))
	_, err = io.ReadFull(log, begin)
	require.NoError(t, err)
	lab.Advance(2 * time.Hour)
	_, err = io.ReadAll(log)
	require.Error(t, err, "the connection ends without the end of the answer")
	require.NoError(t, log.Close())
}

// TestALogWhoseClientLeavesIsARequest: the log of requests has it.
func TestALogWhoseClientLeavesIsARequest(t *testing.T) {
	lab := labtest.New(t, labtest.Options{Containers: containers.Options{Logs: func(context.Context, containers.Container) (iter.Seq[containers.Line], error) {
		return containers.Lines("begins"), nil
	}}})
	lab.Apply(podNamed("p"))
	lab.WaitCurrent()
	seen := make(chan string, 1)
	listener, err := apiserver.Listen(lab.Cluster(), apiserver.ListenOptions{Options: apiserver.Options{Log: func(r apiserver.Request) { seen <- r.URI }}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	ctx, leave := context.WithCancel(t.Context())
	log, err := kubernetes.NewForConfigOrDie(listener.Config()).CoreV1().Pods("default").GetLogs("p", &corev1.PodLogOptions{Follow: true}).Stream(ctx)
	require.NoError(t, err)
	_, err = io.ReadFull(log, make([]byte, len("begins")))
	require.NoError(t, err)
	leave()
	require.Contains(t, <-seen, "/pods/p/log")
	require.NoError(t, log.Close())
}
