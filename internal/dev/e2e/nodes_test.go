package e2e_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/kube/nodes"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

var leaseKind = schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}

// leaseOf returns the Lease of a Node, or nil.
func leaseOf(t *testing.T, cluster *kube.Cluster, node string) *unstructured.Unstructured {
	t.Helper()
	obj, err := cluster.Get(t.Context(), leaseKind, types.NamespacedName{Namespace: "kube-node-lease", Name: node})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(t, err)
	return obj
}

func holder(l *unstructured.Unstructured) string {
	if l == nil {
		return ""
	}
	name, _, _ := unstructured.NestedString(l.Object, "spec", "holderIdentity")
	return name
}

// manage plays Nodes and Pods by a policy for the time of a test.
func manage(t *testing.T, cluster *kube.Cluster, o nodes.Options) *nodes.LeaseHolder {
	t.Helper()
	holder, err := nodes.New(cluster, o)
	require.NoError(t, err)
	set, err := stage.Compile(stage.Options{}, presets.NodeFast(), presets.NodeHeartbeatWithLease(), presets.PodFast())
	require.NoError(t, err)
	player := player.New(set, cluster, player.Options{Seed: 1, Filter: holder.Plays, Select: holder.Rules().Select()})
	background(t, player.Run, func(ctx context.Context) error { return holder.Run(ctx, player.Refilter) })
	return holder
}

// TestNodesAreManagedByPolicy has our Nodes, Nodes of another program, Nodes of a holder that lives
// and then dies, and a Node that vanishes under its Pods.
func TestNodesAreManagedByPolicy(t *testing.T) {
	cluster := newCluster(t)
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: policy}}")
	for name, labels := range map[string]string{"policy-ours": "policy: fake", "policy-held": "policy: fake", "policy-gone": "policy: fake", "policy-theirs": "policy: real"} {
		createNode(t, cluster, "{apiVersion: v1, kind: Node, metadata: {name: "+name+", labels: {"+labels+"}}}")
		create(t, cluster, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: on-%s, namespace: policy},
  spec: {nodeName: %s, containers: [{name: a, image: a}]}}`, name, name))
	}
	create(t, cluster, `{apiVersion: v1, kind: Pod, metadata: {name: custom, namespace: policy,
  annotations: {status: custom}}, spec: {nodeName: policy-ours, containers: [{name: a, image: a}]}}`)
	eventually(t, "the namespace of Leases is there", func() bool {
		_, err := cluster.Get(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, types.NamespacedName{Name: "kube-node-lease"})
		return err == nil
	})
	create(t, cluster, `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: policy-held,
  namespace: kube-node-lease}, spec: {holderIdentity: kwok, leaseDurationSeconds: 4}}`)
	manage(t, cluster, nodes.Options{
		Policy: nodes.Policy{Labels: "policy=fake", Disregard: nodes.Disregard{Annotations: "status=custom"}},
		Lease:  nodes.Lease{Identity: "us", Duration: 4 * time.Second},
	})

	ready := func(name string) bool {
		node, err := cluster.Get(t.Context(), nodeKind, types.NamespacedName{Name: name})
		return err == nil && condition(node, "Ready") == "True"
	}
	eventually(t, "our Node is ready", func() bool { return ready("policy-ours") })
	eventually(t, "its Pod runs", func() bool { return phase(t, cluster, "policy", "on-policy-ours") == "Running" })
	eventually(t, "the Pod of the Node that will vanish runs", func() bool { return phase(t, cluster, "policy", "on-policy-gone") == "Running" })
	require.Equal(t, "us", holder(leaseOf(t, cluster, "policy-ours")))
	owners := leaseOf(t, cluster, "policy-ours").GetOwnerReferences()
	require.Len(t, owners, 1)
	require.Equal(t, "policy-ours", owners[0].Name)
	first := leaseOf(t, cluster, "policy-ours").GetResourceVersion()
	eventually(t, "its Lease is renewed", func() bool { return leaseOf(t, cluster, "policy-ours").GetResourceVersion() != first })

	eventually(t, "the Lease of the dead holder is taken", func() bool { return holder(leaseOf(t, cluster, "policy-held")) == "us" })
	eventually(t, "its Node is ready", func() bool { return ready("policy-held") })
	eventually(t, "its Pod runs", func() bool { return phase(t, cluster, "policy", "on-policy-held") == "Running" })

	create(t, cluster, `{apiVersion: v1, kind: Pod, metadata: {name: stays, namespace: policy},
  spec: {nodeName: policy-none, containers: [{name: a, image: a}]}}`)
	require.NoError(t, cluster.Delete(t.Context(), nodeKind, types.NamespacedName{Name: "policy-gone"}, metav1.DeleteOptions{}))
	require.NoError(t, cluster.Delete(t.Context(), podKind, types.NamespacedName{Namespace: "policy", Name: "on-policy-gone"}, metav1.DeleteOptions{}))
	eventually(t, "the Pod of the Node that vanished is let go", func() bool {
		_, err := cluster.Get(t.Context(), podKind, types.NamespacedName{Namespace: "policy", Name: "on-policy-gone"})
		return apierrors.IsNotFound(err)
	})
	require.False(t, ready("policy-theirs"))
	require.Nil(t, leaseOf(t, cluster, "policy-theirs"))
	for _, name := range []string{"on-policy-theirs", "custom", "stays"} {
		require.Equal(t, "Pending", phase(t, cluster, "policy", name), name)
	}
}

// BenchmarkNodeLeases measures the cost of a renewal in this process. 1,000 Nodes with a duration
// of 4 s have as many renewals as 10,000 Nodes with the default of 40 s. The cost of the server is
// not counted.
func BenchmarkNodeLeases(b *testing.B) {
	const count, duration = 1000, 4 * time.Second
	cluster := newCluster(b)
	for i := range count {
		node := decode(b, fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: leased-%d, labels: {bench: leases}}}", i))[0]
		_, err := cluster.Create(b.Context(), node, metav1.CreateOptions{})
		require.NoError(b, err)
		defer func() {
			_ = cluster.Delete(b.Context(), nodeKind, types.NamespacedName{Name: node.GetName()}, metav1.DeleteOptions{})
		}()
	}
	var failed atomic.Int64
	counted := &counting{Cluster: cluster}
	holder, err := nodes.New(counted, nodes.Options{
		Policy: nodes.Policy{Labels: "bench=leases"}, Lease: nodes.Lease{Identity: "bench", Duration: duration}, Failed: func(error) { failed.Add(1) },
	})
	require.NoError(b, err)
	background(b, func(ctx context.Context) error { return holder.Run(ctx, func() {}) })
	time.Sleep(2 * duration)
	begun, before, renewed := time.Now(), cpu(b), counted.updates.Load()
	for b.Loop() {
		time.Sleep(duration)
	}
	n := float64(counted.updates.Load() - renewed)
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/n, "cpu-µs/renewal")
	b.ReportMetric(n/time.Since(begun).Seconds(), "renewals/s")
	b.ReportMetric(float64(failed.Load()), "failures")
}

// A counting cluster counts updates.
type counting struct {
	*kube.Cluster
	updates atomic.Int64
}

func (c *counting) Update(ctx context.Context, obj *unstructured.Unstructured, o metav1.UpdateOptions, subresources ...string) (*unstructured.Unstructured, error) {
	c.updates.Add(1)
	return c.Cluster.Update(ctx, obj, o, subresources...)
}

// cpu is the CPU time of this process.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
