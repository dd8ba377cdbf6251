package containers_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var start = time.Date(2006, 1, 2, 15, 4, 0, 0, time.UTC)

// cluster returns a cluster with a Pod, an hour after start.
func cluster(t *testing.T, o containers.Options, pod string) *memory.Cluster {
	t.Helper()
	c := memory.New(memory.Options{Now: func() time.Time { return start.Add(time.Hour) }})
	c.Extend(containers.Hooks(o))
	obj := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte("{apiVersion: v1, kind: Pod, "+pod+"}"), &obj.Object))
	obj.SetNamespace("default")
	obj.SetName("p")
	text, err := obj.MarshalJSON()
	require.NoError(t, err)
	create(t, c, string(text))
	return c
}

var pods = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

var p = types.NamespacedName{Namespace: "default", Name: "p"}

const (
	running = `spec: {nodeName: node-1, containers: [{name: a}]}, status: {phase: Running,
  containerStatuses: [{name: a, restartCount: 0, state: {running: {startedAt: "2006-01-02T15:04:00Z"}}}]}`
	twice = `spec: {nodeName: node-1, containers: [{name: a}]}, status: {phase: Running, containerStatuses: [{name: a, restartCount: 1,
  state: {running: {startedAt: "2006-01-02T15:34:00Z"}}, lastState: {terminated: {startedAt: "2006-01-02T15:04:00Z", finishedAt: "2006-01-02T15:14:00Z"}}}]}`
)

// eachMinute prints a line a minute, without end.
func eachMinute(_ context.Context, c containers.Container) (iter.Seq[containers.Line], error) {
	return func(yield func(containers.Line) bool) {
		for i := 0; yield(containers.Line{Time: c.Started.Add(time.Duration(i) * time.Minute), Text: fmt.Sprintf("run %d line %d", c.Run, i), Stderr: i%2 == 1}); i++ {
		}
	}, nil
}

func read(t *testing.T, c *memory.Cluster, o containers.LogOptions) (string, error) {
	t.Helper()
	log, err := containers.Of(c).Logs(t.Context(), p, o)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	n, err := log.WriteTo(&text)
	require.EqualValues(t, text.Len(), n)
	return text.String(), err
}

// TestLogOptions: which part of a log a client gets.
func TestLogOptions(t *testing.T) {
	since, exact := int64(90), start.Add(59*time.Minute)
	c := cluster(t, containers.Options{Logs: eachMinute}, running)
	for _, test := range []struct {
		name string
		o    containers.LogOptions
		want string
	}{
		{"the last ones", containers.LogOptions{TailLines: new(int64(2))}, "run 0 line 59\nrun 0 line 60\n"},
		{"none", containers.LogOptions{TailLines: new(int64(0))}, ""},
		{"seconds", containers.LogOptions{SinceSeconds: &since}, "run 0 line 59\nrun 0 line 60\n"},
		{"a time, which counts itself", containers.LogOptions{SinceTime: &exact}, "run 0 line 59\nrun 0 line 60\n"},
		{"tail counts before since", containers.LogOptions{SinceSeconds: &since, TailLines: new(int64(1))}, "run 0 line 60\n"},
		{"times", containers.LogOptions{TailLines: new(int64(1)), Timestamps: true}, "2006-01-02T16:04:00.000000000Z run 0 line 60\n"},
		{"bytes", containers.LogOptions{LimitBytes: new(int64(17))}, "run 0 line 0\nrun "},
		{"bytes of times", containers.LogOptions{LimitBytes: new(int64(5)), Timestamps: true}, "2006-"},
		{"the only container, by its name", containers.LogOptions{Container: "a", TailLines: new(int64(1))}, "run 0 line 60\n"},
		{"a stream", containers.LogOptions{Stream: "Stderr", SinceSeconds: &since}, "run 0 line 59\n"},
	} {
		text, err := read(t, c, test.o)
		require.NoError(t, err, test.name)
		require.Equal(t, test.want, text, test.name)
	}
}

// TestLogsOfRuns: each run of a container has its log, which ends with it.
func TestLogsOfRuns(t *testing.T) {
	c := cluster(t, containers.Options{Logs: eachMinute}, twice)
	text, err := read(t, c, containers.LogOptions{TailLines: new(int64(1))})
	require.NoError(t, err)
	require.Equal(t, "run 1 line 30\n", text)
	text, err = read(t, c, containers.LogOptions{TailLines: new(int64(1)), Previous: true, Follow: true})
	require.NoError(t, err)
	require.Equal(t, "run 0 line 10\n", text, "its last line is that of its end")
}

// TestPreviousRuns: a run is previous when another has followed it, not when it has ended.
func TestPreviousRuns(t *testing.T) {
	terminated := `terminated: {startedAt: "2006-01-02T15:04:00Z", finishedAt: "2006-01-02T15:14:00Z"}`
	status := func(text string) string {
		return `spec: {nodeName: node-1, containers: [{name: a}]}, status: {containerStatuses: [{name: a, ` + text + `}]}`
	}
	for _, test := range []struct {
		name, pod string
		wanted    bool // of the request
		want      string
	}{
		{"ended", status(`restartCount: 1, state: {` + terminated + `}`), false, "run 1, previous false"},
		{"before an ended one", status(`restartCount: 1, state: {` + terminated + `}, lastState: {` + terminated + `}`), true, "run 0, previous true"},
		{"before a running one", twice, true, "run 0, previous true"},
		{"waiting to be started again", status(`restartCount: 1, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {` + terminated + `}`), false, "run 1, previous false"},
	} {
		c := cluster(t, containers.Options{Logs: func(_ context.Context, c containers.Container) (iter.Seq[containers.Line], error) {
			return containers.Lines(fmt.Sprintf("run %d, previous %t", c.Run, c.Previous)), nil
		}}, test.pod)
		text, err := read(t, c, containers.LogOptions{Previous: test.wanted})
		require.NoError(t, err, test.name)
		require.Equal(t, test.want+"\n", text, test.name)
	}
}

// TestLogErrors has the errors of kube-apiserver and of a kubelet.
func TestLogErrors(t *testing.T) {
	waiting := func(reason string) string {
		return `spec: {nodeName: node-1, containers: [{name: a}]}, status: {containerStatuses: [{name: a, state: {waiting: {reason: ` + reason + `}}}]}`
	}
	now := start
	for _, test := range []struct {
		pod  string
		o    containers.LogOptions
		want string
	}{
		{waiting("ContainerCreating"), containers.LogOptions{}, `container "a" in pod "p" is waiting to start: ContainerCreating`},
		{waiting("ErrImagePull"), containers.LogOptions{}, `container "a" in pod "p" is waiting to start: image can't be pulled`},
		{waiting("ImagePullBackOff"), containers.LogOptions{}, `container "a" in pod "p" is waiting to start: trying and failing to pull image`},
		{`spec: {nodeName: node-1, containers: [{name: a}]}`, containers.LogOptions{}, `container "a" in pod "p" is not available`},
		{running, containers.LogOptions{Previous: true}, `previous terminated container "a" in pod "p" not found`},
		{running, containers.LogOptions{Container: "b"}, `container b is not valid for pod p`},
		{`spec: {initContainers: [{name: i}], containers: [{name: a}, {name: b}]}`, containers.LogOptions{}, `a container name must be specified for pod p, choose one of: [a b] or one of the init containers: [i]`},
		{running, containers.LogOptions{TailLines: new(int64(-1)), LimitBytes: new(int64(0)), SinceSeconds: new(int64(0))}, `PodLogOptions "p" is invalid: [tailLines: Invalid value: -1: must be greater than or equal to 0, ` +
			`limitBytes: Invalid value: 0: must be greater than 0, sinceSeconds: Invalid value: 0: must be greater than 0]`},
		{running, containers.LogOptions{SinceSeconds: new(int64(1)), SinceTime: &now}, "at most one of `sinceTime` or `sinceSeconds` may be specified"},
		{running, containers.LogOptions{Stream: "x"}, `stream: Unsupported value: "x": supported values: "All", "Stderr", "Stdout"`},
	} {
		_, err := read(t, cluster(t, containers.Options{Logs: eachMinute}, test.pod), test.o)
		require.ErrorContains(t, err, test.want)
	}
	text, err := read(t, cluster(t, containers.Options{}, `spec: {containers: [{name: a}]}`), containers.LogOptions{})
	require.NoError(t, err, "a Pod without a node")
	require.Empty(t, text)
}

// TestNothingIsSimulated: without functions and annotations each request says so.
func TestNothingIsSimulated(t *testing.T) {
	for _, o := range []containers.Options{{}, {
		Logs: func(context.Context, containers.Container) (iter.Seq[containers.Line], error) {
			return nil, containers.ErrNotSimulated
		},
	}} {
		c := cluster(t, o, running)
		_, err := read(t, c, containers.LogOptions{})
		require.ErrorIs(t, err, containers.ErrNotSimulated)
		require.EqualError(t, err, `the log of container "a" in pod "p" is not simulated: no process runs in a Pod of an in-memory cluster; set Logs of containers.Options`)
		r := containers.Of(c)
		_, err = r.Exec(t.Context(), p, "")
		require.ErrorIs(t, err, containers.ErrNotSimulated)
		_, err = r.Attach(t.Context(), p, "a")
		require.ErrorIs(t, err, containers.ErrNotSimulated)
		_, err = r.PortForward(t.Context(), p)
		require.ErrorIs(t, err, containers.ErrNotSimulated)
		pod, err := c.Get(t.Context(), pods, p)
		require.NoError(t, err)
		_, err = r.Usage(t.Context(), pod)
		require.ErrorIs(t, err, containers.ErrNotSimulated)
	}
}

// TestAnnotations say what a container prints and uses.
func TestAnnotations(t *testing.T) {
	c := cluster(t, containers.Options{Logs: eachMinute}, `metadata: {annotations: {logs.stagecraft-go.github.io/a: "one\ntwo\n", metrics.stagecraft-go.github.io/cpu: 250m}}, `+running)
	text, err := read(t, c, containers.LogOptions{Timestamps: true})
	require.NoError(t, err)
	require.Equal(t, "2006-01-02T15:04:00.000000000Z one\n2006-01-02T15:04:00.000000000Z two\n", text)
	pod, err := c.Get(t.Context(), pods, p)
	require.NoError(t, err)
	used, err := containers.Of(c).Usage(t.Context(), pod)
	require.NoError(t, err)
	require.Equal(t, map[string]containers.Usage{"a": {CPU: resource.MustParse("250m"), Time: start.Add(time.Hour)}}, used)
}

// TestLogsHaveALimit: the oldest lines of 10 MiB go, and a function that never comes to the present
// is an error.
func TestLogsHaveALimit(t *testing.T) {
	line := strings.Repeat("x", 1<<20)
	endless := func(n int, text string) func(context.Context, containers.Container) (iter.Seq[containers.Line], error) {
		return func(context.Context, containers.Container) (iter.Seq[containers.Line], error) {
			return func(yield func(containers.Line) bool) {
				for i := 0; i != n && yield(containers.Line{Text: text}); i++ {
				}
			}, nil
		}
	}
	text, err := read(t, cluster(t, containers.Options{Logs: endless(12, line)}, running), containers.LogOptions{})
	require.NoError(t, err)
	require.Len(t, text, 9*(1<<20+1))
	_, err = read(t, cluster(t, containers.WithMaxLines(containers.Options{Logs: endless(-1, "")}, 1000), running), containers.LogOptions{})
	require.ErrorContains(t, err, "has returned 1000 lines until now, and no end")
}

// TestExecNeedsARunningContainer: what a client is told of one that does not run.
func TestExecNeedsARunningContainer(t *testing.T) {
	exec := containers.Options{Exec: func(context.Context, containers.Container, containers.Command) (int, error) { return 0, nil }}
	for pod, want := range map[string]string{
		`spec: {containers: [{name: a}]}`:                   "pod p does not have a host assigned",
		`spec: {nodeName: node-1, containers: [{name: a}]}`: `unable to upgrade connection: container not found ("a")`,
		`spec: {nodeName: node-1, containers: [{name: a}]}, status: {containerStatuses: [{name: a, state: {terminated: {exitCode: 0}}}]}`: `container "a" in pod "p" is not running`,
	} {
		_, err := containers.Of(cluster(t, exec, pod)).Exec(t.Context(), p, "")
		require.ErrorContains(t, err, want)
	}
	_, err := containers.Of(cluster(t, exec, running)).Exec(t.Context(), p, "")
	require.NoError(t, err)
}

// TestWhatExecGetsAndReturns: a function gets words and whole streams; an exit code has a byte.
func TestWhatExecGetsAndReturns(t *testing.T) {
	code := 255
	c := cluster(t, containers.Options{Exec: func(_ context.Context, _ containers.Container, command containers.Command) (int, error) {
		input, err := io.ReadAll(command.Stdin)
		fmt.Fprintf(command.Stdout, "%s%s", command.Argv[0], input)
		return code, err
	}}, running)
	run, err := containers.Of(c).Exec(t.Context(), p, "")
	require.NoError(t, err)
	got, err := run(t.Context(), containers.Command{Argv: []string{"true"}})
	require.NoError(t, err)
	require.Equal(t, 255, got)
	_, err = run(t.Context(), containers.Command{})
	require.EqualError(t, err, "you must specify at least one command for the container")
	for _, code = range []int{-1, 256} {
		_, err = run(t.Context(), containers.Command{Argv: []string{"true"}})
		require.ErrorContains(t, err, "want 0 to 255")
	}
}

// TestConnectionsEndWithTheirPod: the context of a function ends with its Pod, or with the run of its container.
func TestConnectionsEndWithTheirPod(t *testing.T) {
	wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	o := containers.Options{
		Exec: func(ctx context.Context, _ containers.Container, _ containers.Command) (int, error) {
			return 0, wait(ctx)
		},
		PortForward: func(ctx context.Context, _ *unstructured.Unstructured, _ int, _ io.ReadWriter) error {
			return wait(ctx)
		},
	}
	ends := map[string]func(*memory.Cluster) error{
		"deleted": func(c *memory.Cluster) error {
			return c.Delete(t.Context(), pods, p, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
		},
		"succeeded": func(c *memory.Cluster) error {
			_, err := c.Patch(t.Context(), pods, p, types.MergePatchType, []byte(`{"status": {"phase": "Succeeded", "containerStatuses": [
				{"name": "a", "restartCount": 0, "state": {"terminated": {"exitCode": 0}}}]}}`), metav1.PatchOptions{}, "status")
			return err
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			c := cluster(t, o, running)
			run, err := containers.Of(c).Exec(t.Context(), p, "")
			require.NoError(t, err)
			forward, err := containers.Of(c).PortForward(t.Context(), p)
			require.NoError(t, err)
			codes, errs := make(chan int, 1), make(chan error, 2)
			go func() {
				code, err := run(t.Context(), containers.Command{Argv: []string{"sleep"}})
				codes <- code
				errs <- err
			}()
			require.NoError(t, end(c))
			require.ErrorIs(t, forward(t.Context(), 80, &bytes.Buffer{}), containers.ErrEnded, "also if it had ended before")
			require.Equal(t, 137, <-codes)
			require.NoError(t, <-errs)
		})
	}
}

// TestLinesOfALog: a text of several lines is several lines.
func TestLinesOfALog(t *testing.T) {
	c := cluster(t, containers.Options{Logs: func(context.Context, containers.Container) (iter.Seq[containers.Line], error) {
		return containers.Lines("panic: x\n\nmain.go:5", "last"), nil
	}}, running)
	text, err := read(t, c, containers.LogOptions{TailLines: new(int64(2)), Timestamps: true})
	require.NoError(t, err)
	require.Equal(t, "2006-01-02T15:04:00.000000000Z main.go:5\n2006-01-02T15:04:00.000000000Z last\n", text)
}

// TestMetersCount: CPU time grows with what is used between reads, from the start of each run on, and
// stays with the Node when its Pods go.
func TestMetersCount(t *testing.T) {
	now, used := start.Add(time.Hour), containers.Usage{CPU: resource.MustParse("500m")}
	c := memory.New(memory.Options{Now: func() time.Time { return now }})
	c.Extend(containers.Hooks(containers.Options{Usage: func(containers.Container, time.Time) (containers.Usage, error) { return used, nil }}))
	create(t, c, `{apiVersion: v1, kind: Node, metadata: {name: node-1}}`)
	create(t, c, `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, `+twice+`}`)
	create(t, c, `{apiVersion: v1, kind: Pod, metadata: {name: waits, namespace: default}, spec: {nodeName: node-1, containers: [{name: a}]}}`)
	meter := containers.NewMeter(c)
	read := func() *containers.NodeUsage {
		u, err := meter.Node(t.Context(), "node-1")
		require.NoError(t, err)
		return u
	}
	u := read()
	require.Equal(t, 900.0, u.Pods[0].Containers[0].CPUSeconds, "half a core since 15:34")
	require.Equal(t, []any{900.0, 2, 2}, []any{u.CPUSeconds, u.Started, len(u.Pods)})
	require.Empty(t, u.Pods[1].Containers)
	require.Equal(t, u, read(), "a read changes nothing")

	now, used.CPU = now.Add(time.Minute), resource.MustParse("2")
	require.Equal(t, 1020.0, read().CPUSeconds)
	used.Time = now.Add(-30 * time.Second)
	now = now.Add(time.Minute)
	u = read()
	require.Equal(t, 1020.0, u.CPUSeconds, "an old measurement adds nothing")
	require.Equal(t, used.Time, u.Pods[0].Containers[0].Time)
	used = containers.Usage{CPUSeconds: 5000}
	require.Equal(t, 5000.0, read().CPUSeconds, "the function says it")
	used.CPUSeconds = 10
	require.Equal(t, 5000.0, read().CPUSeconds, "no time goes back")

	require.NoError(t, c.Delete(t.Context(), pods, p, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	u = read()
	require.Equal(t, []any{5000.0, 2, 1}, []any{u.CPUSeconds, u.Started, len(u.Pods)})
	_, err := meter.Node(t.Context(), "none")
	require.Error(t, err)
}

// TestMetersForgetNodes that are gone, before they remember too many.
func TestMetersForgetNodes(t *testing.T) {
	c := memory.New(memory.Options{})
	meter := containers.NewMeter(c)
	for i := range 1000 {
		name := fmt.Sprint("node-", i)
		node := create(t, c, "{apiVersion: v1, kind: Node, metadata: {name: "+name+"}}")
		_, err := meter.Node(t.Context(), name)
		require.NoError(t, err)
		require.NoError(t, c.Delete(t.Context(), node.GroupVersionKind(), types.NamespacedName{Name: name}, metav1.DeleteOptions{}))
	}
	require.LessOrEqual(t, containers.Remembered(meter), 102)
}

// create creates an object with its status.
func create(t *testing.T, c *memory.Cluster, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &obj.Object))
	status := obj.Object["status"]
	obj, err := c.Create(t.Context(), obj, metav1.CreateOptions{})
	require.NoError(t, err)
	if status != nil {
		obj.Object["status"] = status
		obj, err = c.Update(t.Context(), obj, metav1.UpdateOptions{}, "status")
		require.NoError(t, err)
	}
	return obj
}

// TestCountsAreExact: 10 seconds of 200m are 2 core-seconds, whatever the scale of the amount.
func TestCountsAreExact(t *testing.T) {
	o := containers.Options{Usage: func(c containers.Container, _ time.Time) (containers.Usage, error) {
		return containers.Usage{CPU: *resource.NewScaledQuantity(200_000, resource.Micro), Time: c.Started.Add(10 * time.Second)}, nil
	}}
	c := cluster(t, o, running)
	create(t, c, `{apiVersion: v1, kind: Node, metadata: {name: node-1}}`)
	u, err := containers.NewMeter(c).Node(t.Context(), "node-1")
	require.NoError(t, err)
	require.Equal(t, 2.0, u.CPUSeconds)
}

// TestImpossibleUsages are errors that name the container, and count for nothing.
func TestImpossibleUsages(t *testing.T) {
	for want, used := range map[string]containers.Usage{
		"cpu: want 0 to 1e6 cores, got -1m":                                                          {CPU: resource.MustParse("-1m")},
		"cpu: want 0 to 1e6 cores, got 9223372036854775807":                                          {CPU: *resource.NewQuantity(math.MaxInt64, resource.DecimalSI)},
		"cpu: want 0 to 1e6 cores, got 9E99":                                                         {CPU: resource.MustParse("9E99")},
		"memory: want 0 to 1e15 bytes, got -5Mi":                                                     {Memory: resource.MustParse("-5Mi")},
		"CPUSeconds: want 0 to 1e15 core-seconds, got NaN":                                           {CPUSeconds: math.NaN()},
		"CPUSeconds: want 0 to 1e15 core-seconds, got +Inf":                                          {CPUSeconds: math.Inf(1)},
		"CPUSeconds: want 0 to 1e15 core-seconds, got -1":                                            {CPUSeconds: -1},
		"Time: want at most the time of the cluster, 2006-01-02T16:04:00Z, got 2009-01-02T15:04:00Z": {Time: start.AddDate(3, 0, 0)},
	} {
		c := cluster(t, containers.Options{Usage: func(containers.Container, time.Time) (containers.Usage, error) { return used, nil }}, running)
		pod, err := c.Get(t.Context(), pods, p)
		require.NoError(t, err)
		_, err = containers.Of(c).Usage(t.Context(), pod)
		require.EqualError(t, err, `the usage of container "a" of Pod default/p: `+want)
		create(t, c, `{apiVersion: v1, kind: Node, metadata: {name: node-1}}`)
		u, err := containers.NewMeter(c).Node(t.Context(), "node-1")
		require.NoError(t, err)
		require.EqualError(t, u.Pods[0].Err, `the usage of container "a" of Pod default/p: `+want)
		require.Equal(t, []any{"0", "0", 0.0}, []any{u.CPU.String(), u.Memory.String(), u.CPUSeconds})
	}
	c := cluster(t, containers.Options{}, `metadata: {annotations: {metrics.stagecraft-go.github.io/memory: -5Mi}}, `+running)
	pod, err := c.Get(t.Context(), pods, p)
	require.NoError(t, err)
	_, err = containers.Of(c).Usage(t.Context(), pod)
	require.EqualError(t, err, `the usage of container "a" of Pod default/p: memory: want 0 to 1e15 bytes, got -5Mi`)
}
