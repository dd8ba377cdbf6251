package harnesses_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// rabbitmq answers the commands that the operator runs in its Pods, as RabbitMQ does, and remembers them.
type rabbitmq struct {
	mu   sync.Mutex
	seen []string
}

func (r *rabbitmq) exec(_ context.Context, c containers.Container, command containers.Command) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := command.Argv[len(command.Argv)-1]
	for _, known := range []string{"rabbitmqctl -s list_feature_flags", "rabbitmq-plugins set", "rabbitmq-queues rebalance all"} {
		if strings.Contains(line, known) {
			r.seen = append(r.seen, c.Pod.GetName()+": "+known)
			return 0, nil
		}
	}
	fmt.Fprintln(command.Stderr, "unknown command:", line)
	return 127, nil
}

func (r *rabbitmq) has(lines ...string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := strings.Join(r.seen, "\n")
	for _, line := range lines {
		if !strings.Contains(seen, line) {
			return false
		}
	}
	return true
}

// TestRabbitMQ runs the unchanged cluster-operator of RabbitMQ against the server, to the end of its
// reconcile: after a creation, a change of plugins, and a rolling update.
func TestRabbitMQ(t *testing.T) {
	if os.Getenv("STAGECRAFT_RABBITMQ") == "" {
		t.Skip("the operator takes minutes to build: make rabbitmq")
	}
	source, program := buildRabbitMQ(t)
	broker := &rabbitmq{}
	lab := labtest.New(t, labtest.Options{Start: time.Now(), Containers: containers.Options{Exec: broker.exec}})
	definition, err := os.ReadFile(filepath.Join(source, "config/crd/bases/rabbitmq.com_rabbitmqclusters.yaml"))
	require.NoError(t, err)
	lab.Apply(string(definition))
	listener, err := apiserver.Listen(lab.Cluster(), apiserver.ListenOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	log := start(t, listener, program)

	lab.Apply(cluster(``))
	wait := func(what string, done func(cluster *unstructured.Unstructured) bool) {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); !done(lab.Get("rabbitmq.com/v1beta1", "RabbitmqCluster", "mq")); {
			require.True(t, time.Now().Before(end), "%s\n%s", what, log)
			time.Sleep(100 * time.Millisecond)
			lab.Advance(100 * time.Millisecond)
		}
	}
	wait("creation", func(cluster *unstructured.Unstructured) bool {
		return reconciled(cluster) && broker.has("mq-server-0: rabbitmqctl")
	})
	lab.Apply(cluster(`rabbitmq: {additionalPlugins: [rabbitmq_stream]}`))
	wait("plugins", func(cluster *unstructured.Unstructured) bool {
		return reconciled(cluster) && broker.has("mq-server-0: rabbitmq-plugins", "mq-server-1: rabbitmq-plugins", "mq-server-2: rabbitmq-plugins")
	})
	lab.Apply(cluster(`image: "rabbitmq:new", rabbitmq: {additionalPlugins: [rabbitmq_stream]}`))
	wait("rolling update", func(cluster *unstructured.Unstructured) bool {
		return reconciled(cluster) && broker.has("mq-server-0: rabbitmq-queues rebalance all")
	})
	for _, failure := range []string{"failed to enable all feature flags", "failed to set plugins", "failed to run queue rebalance"} {
		require.NotContains(t, log.String(), failure)
	}
}

// cluster returns a RabbitmqCluster with more in its spec.
func cluster(more string) string {
	return `{apiVersion: rabbitmq.com/v1beta1, kind: RabbitmqCluster, metadata: {name: mq}, spec: {replicas: 3, ` + more + `}}`
}

// reconciled reports whether the operator has come to the end of its reconcile for what is wanted now.
func reconciled(cluster *unstructured.Unstructured) bool {
	seen, _, _ := unstructured.NestedInt64(cluster.Object, "status", "observedGeneration")
	conditions, _, _ := unstructured.NestedSlice(cluster.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if condition["type"] == "ReconcileSuccess" && condition["status"] == "True" {
			return seen == cluster.GetGeneration()
		}
	}
	return false
}

// buildRabbitMQ builds the operator with the libraries that its go.mod pins.
func buildRabbitMQ(t *testing.T) (source, program string) {
	t.Helper()
	text, err := exec.Command("go", "mod", "download", "-json", "github.com/rabbitmq/cluster-operator@v1.8.3").Output()
	require.NoError(t, err, "%s", text)
	var module struct{ Dir string }
	require.NoError(t, json.Unmarshal(text, &module))
	program = filepath.Join(t.TempDir(), "cluster-operator")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir, build.Env = module.Dir, append(os.Environ(), "CGO_ENABLED=0")
	text, err = build.CombinedOutput()
	require.NoError(t, err, "%s", text)
	return module.Dir, program
}

// start runs the operator until the test ends, and returns what it logs.
func start(t *testing.T, listener *apiserver.Listener, program string) fmt.Stringer {
	t.Helper()
	text, err := listener.Kubeconfig()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	log := &lockedBuffer{}
	command := exec.Command(program, "-metrics-bind-address=0")
	command.Env = append(os.Environ(), "KUBECONFIG="+file, "KUBE_CONFIG="+file, "OPERATOR_NAMESPACE=default")
	command.Stdout, command.Stderr = log, log
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		require.NoError(t, command.Process.Kill())
		_ = command.Wait() // it was killed
	})
	return log
}

// A lockedBuffer is what a program prints.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
