package workloads

import (
	"bytes"
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/controller/cronjob"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/oracle/client"
	"k8s.io/client-go/util/flowcontrol"
	"time"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	// Their backoff sleeps until the real time of the last error, which in a bubble is decades ahead.
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

// playTheirs plays a scenario with the controllers of kube-controller-manager. It translates their
// hashes into ours.
func playTheirs(t *testing.T, s scenario, hashes map[string][]string) *history {
	return play(t, s, func(w *world, all *sync.WaitGroup) {
		tr := &translation{ours: hashes, to: map[string]string{}, count: map[string]int{}}
		config := client.Config(w.cluster, client.Options{
			Create: w.create, Pause: time.Microsecond,
			Request: tr.request, Response: tr.response,
		})
		cs, err := kubernetes.NewForConfig(config)
		require.NoError(t, err)
		f := informers.NewSharedInformerFactory(cs, 0)
		start := controllersOf(t, w.ctx, cs, f, s.kind)
		f.Start(w.ctx.Done())
		f.WaitForCacheSync(w.ctx.Done())
		for _, run := range start {
			all.Go(run)
		}
		all.Go(func() {
			<-w.ctx.Done()
			f.Shutdown()
		})
	})
}

// controllersOf makes the controllers that a kind needs.
func controllersOf(t *testing.T, ctx context.Context, cs kubernetes.Interface, f informers.SharedInformerFactory, kind string) []func() {
	const workers = 1
	apps, batch, core := f.Apps().V1(), f.Batch().V1(), f.Core().V1()
	switch kind {
	case "Deployment", "ReplicaSet":
		d, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), core.Pods(), cs)
		require.NoError(t, err)
		rs := replicaset.NewReplicaSetController(ctx, apps.ReplicaSets(), core.Pods(), cs, replicaset.BurstReplicas)
		return []func(){func() { d.Run(ctx, workers) }, func() { rs.Run(ctx, workers) }}
	case "StatefulSet":
		c := statefulset.NewStatefulSetController(ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(), apps.ControllerRevisions(), cs)
		return []func(){func() { c.Run(ctx, workers) }}
	case "DaemonSet":
		c, err := daemon.NewDaemonSetsController(ctx, apps.DaemonSets(), apps.ControllerRevisions(), core.Pods(), core.Nodes(), cs, flowcontrol.NewBackOff(time.Second, 15*time.Minute))
		require.NoError(t, err)
		return []func(){func() { c.Run(ctx, workers) }}
	}
	j, err := job.NewController(ctx, cs, core.Pods(), batch.Jobs(), nil, nil)
	require.NoError(t, err)
	ttl := ttlafterfinished.New(ctx, batch.Jobs(), cs)
	run := []func(){func() { j.Run(ctx, workers) }, func() { ttl.Run(ctx, workers) }}
	if kind == "CronJob" {
		c, err := cronjob.NewControllerV2(ctx, batch.Jobs(), batch.CronJobs(), cs)
		require.NoError(t, err)
		run = append(run, func() { c.Run(ctx, workers) })
	}
	return run
}

// A translation replaces the hashes in the names of ReplicaSets and revisions.
type translation struct {
	mutex sync.Mutex
	ours  map[string][]string
	to    map[string]string // theirs to ours
	count map[string]int
}

// request translates a request. The hash of a new object becomes the hash that ours has at that
// place.
func (tr *translation) request(body []byte) []byte {
	tr.mutex.Lock()
	defer tr.mutex.Unlock()
	obj := &unstructured.Unstructured{}
	if bytes.Contains(body, []byte(`"kind":"ReplicaSet"`)) || bytes.Contains(body, []byte(`"kind":"ControllerRevision"`)) {
		if obj.UnmarshalJSON(body) == nil && obj.GetResourceVersion() == "" {
			tr.learn(obj)
		}
	}
	for theirs, ours := range tr.to {
		body = bytes.ReplaceAll(body, []byte(theirs), []byte(ours))
	}
	return body
}

func (tr *translation) learn(obj *unstructured.Unstructured) {
	i := strings.LastIndex(obj.GetName(), "-")
	if i < 0 || metav1.GetControllerOf(obj) == nil {
		return
	}
	owner, hash := obj.GetKind()+" "+obj.GetName()[:i], obj.GetName()[i+1:]
	if n := tr.count[owner]; tr.to[hash] == "" && n < len(tr.ours[owner]) {
		tr.to[hash], tr.count[owner] = tr.ours[owner][n], n+1
	}
}

func (tr *translation) response(body []byte) []byte {
	tr.mutex.Lock()
	defer tr.mutex.Unlock()
	for theirs, ours := range tr.to {
		body = bytes.ReplaceAll(body, []byte(ours), []byte(theirs))
	}
	return body
}
