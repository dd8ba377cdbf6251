package harnesses_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
	source, program := build(t, "github.com/rabbitmq/cluster-operator@v1.8.3", ".")
	broker := &rabbitmq{}
	lab := labtest.New(t, labtest.Options{Start: time.Now(), Containers: containers.Options{Exec: broker.exec}})
	definition, err := os.ReadFile(filepath.Join(source, "config/crd/bases/rabbitmq.com_rabbitmqclusters.yaml"))
	require.NoError(t, err)
	lab.Apply(string(definition))
	log := run(t, lab, program, "-metrics-bind-address=0")

	lab.Apply(cluster(``))
	wait := func(what string, done func(cluster *unstructured.Unstructured) bool) {
		t.Helper()
		await(t, lab, log, what, func() bool { return done(lab.Get("rabbitmq.com/v1beta1", "RabbitmqCluster", "mq")) })
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
