package kwok_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
	"github.com/stagecraft-go/stagecraft/stage/lab/containers/kwok"
)

// The files are as a user of kwok writes them, for all Pods and for one.
const files = `
kind: ClusterLogs
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: all}
spec:
  selector: {matchNamespaces: [default]}
  logs:
  - logsFile: ./logs/all.log
    previousLogsFile: /logs/before.log
    follow: true
---
kind: Logs
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: db, namespace: default}
spec: {logs: [{containers: [main], logsFile: db.log}]}
---
{kind: ClusterExec, apiVersion: kwok.x-k8s.io/v1alpha1, metadata: {name: x}, spec: {execs: [{local: {workDir: /tmp, envs: [{name: A, value: b}]}}]}}
---
{kind: ClusterPortForward, apiVersion: kwok.x-k8s.io/v1alpha1, metadata: {name: x}, spec: {forwards: [{ports: [80], target: {port: 8080, address: localhost}}, {command: [cat]}]}}
---
{kind: Stage, apiVersion: kwok.x-k8s.io/v1alpha1, metadata: {name: other}, spec: {}}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterResourceUsage
metadata: {name: usage-from-annotation}
spec:
  usages:
  - usage:
      cpu:
        expression: |
          "kwok.x-k8s.io/usage-cpu" in pod.metadata.annotations
          ? Quantity(pod.metadata.annotations["kwok.x-k8s.io/usage-cpu"])
          : Quantity("1m")
      memory: {value: 64Mi}
`

func container(pod, name string) containers.Container {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod"}}
	obj.SetName(pod)
	obj.SetNamespace("default")
	return containers.Container{Pod: obj, Name: name, Started: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

func parsed(t *testing.T, text string) *kwok.Rules {
	t.Helper()
	r, err := kwok.Parse("rules.yaml", []byte(text))
	require.NoError(t, err)
	return r
}

// TestFiles: which rule is for a container, and what it means.
func TestFiles(t *testing.T) {
	o := parsed(t, files).Options(kwok.Host{Files: fstest.MapFS{
		"logs/all.log":    {Data: []byte("2026-01-01T00:00:05.5Z stderr F a failure\nplain\n")},
		"logs/before.log": {Data: []byte("before\n")},
		"db.log":          {Data: []byte("db\n")},
	}})
	read := func(c containers.Container) (lines []containers.Line) {
		all, err := o.Logs(t.Context(), c)
		require.NoError(t, err)
		for line := range all {
			lines = append(lines, line)
		}
		return lines
	}
	at := time.Date(2026, 1, 1, 0, 0, 5, 5e8, time.UTC)
	require.Equal(t, []containers.Line{{Time: at, Text: "a failure", Stderr: true}, {Time: at, Text: "plain"}}, read(container("web", "a")))
	ended := container("web", "a")
	ended.Ended = at
	require.Equal(t, "a failure", read(ended)[0].Text, "it is still the present run")
	before := ended
	before.Previous = true
	require.Equal(t, "before", read(before)[0].Text)
	require.Equal(t, "db", read(container("db", "main"))[0].Text)
	_, err := o.Logs(t.Context(), container("db", "other"))
	require.ErrorIs(t, err, containers.ErrNotSimulated, "the rule of a Pod is the only one for it")
	before = container("db", "main")
	before.Previous = true
	_, err = o.Logs(t.Context(), before)
	require.ErrorIs(t, err, containers.ErrNotSimulated, "the file of another run says nothing")

	used, err := o.Usage(container("web", "a"), at)
	require.NoError(t, err)
	require.Equal(t, "1m 64Mi", used.CPU.String()+" "+used.Memory.String())
	c := container("web", "a")
	c.Pod.SetAnnotations(map[string]string{"kwok.x-k8s.io/usage-cpu": "1500m"})
	used, err = o.Usage(c, at)
	require.NoError(t, err)
	require.Equal(t, "1500m", used.CPU.String())
}

// TestHost: nothing of the machine is reachable by default, and everything by functions of the program.
func TestHost(t *testing.T) {
	o := parsed(t, files).Options(kwok.Host{})
	_, err := o.Logs(t.Context(), container("web", "a"))
	require.EqualError(t, err, `the file "./logs/all.log" of this machine is not allowed: set Files of kwok.Host`)
	_, err = o.Exec(t.Context(), container("web", "a"), containers.Command{Argv: []string{"sh"}})
	require.EqualError(t, err, "a command of this machine is not allowed: set Run of kwok.Host")
	require.EqualError(t, o.PortForward(t.Context(), container("web", "a").Pod, 80, nil), "the network of this machine is not allowed: set Dial of kwok.Host")
	require.EqualError(t, o.PortForward(t.Context(), container("web", "a").Pod, 81, nil), "a command of this machine is not allowed: set Run of kwok.Host")

	o = parsed(t, files).Options(kwok.Host{
		Files: fstest.MapFS{},
		Run: func(_ context.Context, c kwok.HostCommand) (int, error) {
			_, err := io.WriteString(c.Stdout, strings.Join(append(c.Env, c.Dir, strings.Join(c.Argv, " ")), ";"))
			return 4, err
		},
		Dial: func(_ context.Context, _, address string) (net.Conn, error) {
			return nil, errors.New("dials " + address)
		},
	})
	_, err = o.Logs(t.Context(), container("web", "a"))
	require.ErrorContains(t, err, "logs/all.log", "no path leads out of Files")
	var text strings.Builder
	code, err := o.Exec(t.Context(), container("web", "a"), containers.Command{Argv: []string{"ls", "-l"}, Streams: containers.Streams{Stdout: &text}})
	require.NoError(t, err)
	require.Equal(t, 4, code)
	require.Equal(t, "A=b;/tmp;ls -l", text.String())
	require.EqualError(t, o.PortForward(t.Context(), container("web", "a").Pod, 80, nil), "dials localhost:8080")
}

// TestFaults: each fault of a file has its position, all at once.
func TestFaults(t *testing.T) {
	_, err := kwok.Parse("f.yaml", []byte(`kind: ClusterLogs
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: a}
spec:
  log: []
  logs:
  - logsFile: 5
    follow: perhaps
    containers: main
---
{kind: Exec, apiVersion: kwok.x-k8s.io/v1alpha1, spec: {selector: {}, execs: [{local: {securityContext: {runAsUser: 1}}}]}}
---
{kind: Metric, apiVersion: kwok.x-k8s.io/v1alpha1, metadata: {name: m}, spec: {selector: {}, path: '/stats/{x}', metrics: []}}
---
{kind: Pod, apiVersion: v1}
---
kind: ResourceUsage
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: a, name: b}
spec:
  usages:
  - usage:
      cpu: {expression: "pod.x + nothing"}
      memory: {value: much}
      disk: {value: 1}
`))
	for _, want := range []string{
		"f.yaml:5:3: spec.log: unknown field", "f.yaml:7:15: spec.logs[0].logsFile: want a string, got 5",
		`f.yaml:8:13: spec.logs[0].follow: want a boolean, got "perhaps"`, "f.yaml:9:17: spec.logs[0].containers: want a list, got a value",
		"f.yaml:11:88: spec.execs[0].local.securityContext: unknown field", "f.yaml:11:1: metadata.name: want the name of the object",
		"f.yaml:11:1: spec.selector: only cluster-wide kinds have a selector: Exec is for the Pod of its name",
		"f.yaml:13:80: spec.selector: unknown field", `f.yaml:13:100: spec.path: want a path that begins with /metrics/, got "/stats/{x}"`, `f.yaml:15:1: apiVersion: want kwok.x-k8s.io/v1alpha1, got "v1"`,
		"f.yaml:19:21: metadata.name: the field is there twice", "f.yaml:23:25: spec.usages[0].usage.cpu.expression: ", "undeclared reference to 'nothing'",
		`f.yaml:24:23: spec.usages[0].usage.memory.value: "much" is not a quantity, such as 250m or 64Mi`, "spec.usages[0].usage.disk: only cpu and memory are measured",
	} {
		require.ErrorContains(t, err, want)
	}
	var fault *kwok.Fault
	require.ErrorAs(t, err, &fault)
	_, err = kwok.Parse("f.yaml", []byte("a: [\n"))
	require.Error(t, err)
}

// TestFilesOfKwok: the files that come with kwok are read as they are, where the module is in the
// cache.
func TestFilesOfKwok(t *testing.T) {
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	require.NoError(t, err)
	dir := filepath.Join(strings.TrimSpace(string(cache)), "sigs.k8s.io", "kwok@v0.8.0")
	for _, name := range []string{
		"demo/logs.yaml", "demo/exec.yaml", "demo/attach.yaml", "demo/port-forward.yaml",
		"test/e2e/logs.yaml", "test/e2e/exec.yaml", "test/e2e/attach.yaml", "test/e2e/port_forward.yaml",
		"kustomize/metrics/usage/usage-from-annotation.yaml",
		"kustomize/metrics/resource/metrics-resource.yaml",
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			t.Skip("kwok is not in the module cache")
		}
		require.NoError(t, err)
		_, err = kwok.Parse(name, text)
		require.NoError(t, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "kustomize/metrics/resource/metrics-resource.yaml"))
	require.NoError(t, err)
	answer := scrape(t, string(text), measured(t), "/metrics/nodes/n/metrics/resource")
	for _, line := range []string{
		`container_cpu_usage_seconds_total{container="a",namespace="default",pod="p"} 240`, `pod_memory_working_set_bytes{namespace="default",pod="p"} 1024`,
		"node_cpu_usage_seconds_total 240", "scrape_error 0", `container_start_time_seconds{container="a",namespace="default",pod="p"} 300`,
	} {
		require.Contains(t, answer, line+"\n")
	}
	require.NotContains(t, answer, "stagecraft_metric_faults")
}

// TestExpressionsHaveALimit: an expression of much work is an error, not a wait.
func TestExpressionsHaveALimit(t *testing.T) {
	loops := "[1,2,3,4,5,6,7,8,9,10].all(%, X)"
	expression := "1.0 > 2.0"
	for _, name := range strings.Split("abcdefghi", "") {
		expression = strings.ReplaceAll(strings.ReplaceAll(loops, "%", name), "X", expression+" || true")
	}
	o := parsed(t, `
{kind: ClusterResourceUsage, apiVersion: kwok.x-k8s.io/v1alpha1, metadata: {name: x}, spec: {usages: [
  {usage: {cpu: {expression: "`+expression+` ? 1.0 : 2.0"}}}]}}`).Options(kwok.Host{})
	_, err := o.Usage(container("web", "a"), time.Now())
	require.ErrorContains(t, err, "cost limit exceeded")
}

// TestUsageFaults: an expression or a value that can only fail later is a fault of the file.
func TestUsageFaults(t *testing.T) {
	usage := func(text string) error {
		_, err := kwok.Parse("u.yaml", []byte("{kind: ClusterResourceUsage, apiVersion: kwok.x-k8s.io/v1alpha1, metadata: {name: x}, spec: {usages: [\n  {usage: {cpu: {"+text+"}}}]}}"))
		return err
	}
	for expression, want := range map[string]string{
		`"text"`: "want an amount, got a value of type string", `[1]`: "want an amount, got a value of type list(int)",
		`Now()`: "want an amount, got a value of type timestamp", `true`: "want an amount, got a value of type bool",
		`duration("1s")`: "want an amount, got a value of type duration", `{"a": 1}`: "want an amount, got a value of type map(string, int)",
		`Quantity("100q")`: `Quantity("100q"): quantities must match the regular expression`, `"100q".Quantity()`: `Quantity("100q"): quantities must match`,
		`Quantity(1)`: "Quantity: want a string, got 1", `Quantity("1") + 1`: "no such overload", `pod.spec.hostNetwork ? Quantity("x") : Quantity("1")`: `Quantity("x"): quantities must match`,
		`1/0`: "division by zero", `Rand() > 0.5 ? 1 % 0 : 1`: "division by zero", `0.0/0.0`: "want a number from 0 to 1e6, got NaN",
		`-1`: "want a number from 0 to 1e6, got -1", `Quantity("1k") * 2000`: "want a number from 0 to 1e6, got 2e6",
	} {
		require.ErrorContains(t, usage("expression: '"+expression+"'"), "u.yaml:2:30: spec.usages[0].usage.cpu.expression: "+want, expression)
	}
	require.ErrorContains(t, usage("value: -1"), "u.yaml:2:17: spec.usages[0].usage.cpu.value: want a quantity from 0 to 1e6, got -1")
	require.ErrorContains(t, usage("value: 9E99"), "want a quantity from 0 to 1e6, got 9E99")
	for _, fine := range []string{`1`, `1u`, `0.5`, `Quantity("1") / 2`, `Rand()`, `Now().UnixSecond() / 1e9`, `pod.spec.hostNetwork ? 1 : 2`, `dyn(pod.metadata.name) == "x" ? Quantity("1") : 2.0`} {
		require.NoError(t, usage("expression: '"+fine+"'"), fine)
	}
	o := parsed(t, `{kind: ClusterResourceUsage, apiVersion: kwok.x-k8s.io/v1alpha1, metadata: {name: x}, spec: {usages: [
  {usage: {cpu: {expression: pod.spec.hostNetwork}}}]}}`).Options(kwok.Host{})
	_, err := o.Usage(container("web", "a"), time.Now())
	require.ErrorContains(t, err, "rules.yaml:2:30: spec.usages[0].usage.cpu.expression: want an amount, got a value of type bool")
}

// TestForwardFaults: ports that no connection has, and rules that lead nowhere.
func TestForwardFaults(t *testing.T) {
	_, err := kwok.Parse("p.yaml", []byte(`{kind: PortForward, apiVersion: kwok.x-k8s.io/v1alpha1, metadata: {name: x}, spec: {forwards: [
  {ports: [99999, 80, -1], target: {port: 0, address: localhost}},
  {target: {address: localhost}},
  {ports: [80]},
  {ports: [0, 65535], command: [cat]}]}}`))
	require.EqualError(t, err, `p.yaml:2:12: spec.forwards[0].ports[0]: want a port from 1 to 65535, got 99999
p.yaml:2:23: spec.forwards[0].ports[2]: want a port from 1 to 65535, got -1
p.yaml:2:43: spec.forwards[0].target.port: want a port from 1 to 65535, got 0
p.yaml:3:12: spec.forwards[1].target.port: want a port from 1 to 65535, got 0
p.yaml:4:3: spec.forwards[2]: want target or command
p.yaml:5:12: spec.forwards[3].ports[0]: want a port from 1 to 65535, got 0`)
}
