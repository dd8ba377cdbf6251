package autoscaling

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/scale"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	resourceclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

const rounds = 40 // of a minute, each with a random usage

// TestServedUsages: the controller of Kubernetes, with its metrics client, reads usage from the API
// metrics.k8s.io of our server and scales a StatefulSet as our controller does: 1,000 random usages.
func TestServedUsages(t *testing.T) {
	kept := 0
	for seed := range uint64(25) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			theirs := replicasByTheirs(t, seed)
			require.Equal(t, theirs, replicasByOurs(t, seed))
			kept += rounds - len(slices.Compact(theirs))
		})
	}
	changes := 25*(rounds-1) - kept
	t.Logf("other replicas after %d of %d minutes", changes, 25*rounds)
	require.Greater(t, changes, 50)
}

// usageOf returns what a container uses in a minute: around a level of some minutes, at times nothing.
func usageOf(seed uint64, start time.Time) func(containers.Container, time.Time) (containers.Usage, error) {
	return func(c containers.Container, now time.Time) (containers.Usage, error) {
		round := int(now.Sub(start) / time.Minute)
		level := []int64{2, 10, 40, 120, 400}[rand.New(rand.NewPCG(seed, uint64(round/6))).IntN(5)]
		hash := fnv.New64a()
		fmt.Fprint(hash, seed, round, c.Pod.GetName(), c.Name)
		r := rand.New(rand.NewPCG(hash.Sum64(), 1))
		if r.IntN(12) == 0 {
			return containers.Usage{}, containers.ErrNotSimulated
		}
		return containers.Usage{CPU: *resource.NewMilliQuantity(level+r.Int64N(level), resource.DecimalSI), Memory: *resource.NewQuantity((level+r.Int64N(level))<<19, resource.BinarySI)}, nil
	}
}

// workload is a StatefulSet, whose Pods have the same names in both worlds.
const workload = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web}, spec: {replicas: 3, podManagementPolicy: Parallel, selector: {matchLabels: {app: web}},
  template: {metadata: {labels: {app: web}}, spec: {terminationGracePeriodSeconds: 0, containers: [
    {name: app, image: i, resources: {requests: {cpu: 150m, memory: 100Mi}}}, {name: log, image: i, resources: {requests: {cpu: 50m, memory: 20Mi}}}]}}}}`

// autoscaler returns the autoscaler of a seed, by usage alone.
func autoscaler(seed uint64) *autoscalingv2.HorizontalPodAutoscaler {
	r := rand.New(rand.NewPCG(seed, 38))
	hpa := drawAutoscaler(r, "web")
	hpa.APIVersion, hpa.Kind = "autoscaling/v2", "HorizontalPodAutoscaler"
	hpa.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web"}
	hpa.Spec.Metrics = slices.DeleteFunc(hpa.Spec.Metrics, func(m autoscalingv2.MetricSpec) bool { return m.Resource == nil && m.ContainerResource == nil })
	for i := range hpa.Spec.Metrics {
		if c := hpa.Spec.Metrics[i].ContainerResource; c != nil {
			c.Container = []string{"app", "log"}[r.IntN(2)]
		}
	}
	return hpa
}

// replicas begins a world and returns the replicas after each minute. Autoscalers are looked at half a
// minute after usage has changed.
func replicas(lab *labtest.Lab, seed uint64, begin func()) (all []any) {
	lab.Apply(workload)
	lab.WaitCurrent()
	begin()
	lab.Advance(7500 * time.Millisecond)
	lab.Apply(autoscaler(seed))
	for range rounds {
		for range 60 {
			lab.Advance(time.Second)
		}
		all = append(all, lab.Get("apps/v1", "StatefulSet", "web").Object["spec"].(map[string]any)["replicas"])
	}
	return all
}

func replicasByOurs(t *testing.T, seed uint64) []any {
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	return replicas(labtest.New(t, labtest.Options{Start: start, Containers: containers.Options{Usage: usageOf(seed, start)}}), seed, func() {})
}

func replicasByTheirs(t *testing.T, seed uint64) (all []any) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		others := slices.DeleteFunc(labtest.Controllers(), func(c reconcile.Controller) bool { return c.For == hpaKind })
		lab := labtest.New(t, labtest.Options{Start: start, OnlyControllers: true, Controllers: others,
			Sync:       func(d time.Duration) { time.Sleep(d); synctest.Wait() },
			Containers: containers.Options{Usage: usageOf(seed, start)}})
		config := rest.CopyConfig(apiserver.Start(t, lab.Cluster(), apiserver.Options{}))
		config.QPS = -1
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		all = replicas(lab, seed, func() { runTheirs(ctx, t, config, &running) })
		cancel()
		running.Wait()
	})
	return all
}

// runTheirs runs the controller of kube-controller-manager, all of whose clients use the server.
func runTheirs(ctx context.Context, t *testing.T, config *rest.Config, running *sync.WaitGroup) {
	client := kubernetes.NewForConfigOrDie(config)
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: "apps", Version: "v1"}})
	mapper.Add(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}, meta.RESTScopeNamespace)
	scales, err := scale.NewForConfig(config, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(discovery.NewDiscoveryClientForConfigOrDie(config)))
	require.NoError(t, err)
	f := informers.NewSharedInformerFactory(client, 0)
	controller := podautoscaler.NewHorizontalController(ctx, client.CoreV1(), scales, client.AutoscalingV2(), meta.MultiRESTMapper{mapper},
		metrics.NewRESTMetricsClient(resourceclient.NewForConfigOrDie(config), nil, nil),
		f.Autoscaling().V2().HorizontalPodAutoscalers(), f.Core().V1().Pods(), 15*time.Second, 5*time.Minute, 0.1, 5*time.Minute, 30*time.Second)
	f.Start(ctx.Done())
	f.WaitForCacheSync(ctx.Done())
	running.Go(func() { controller.Run(ctx, 5) })
	running.Go(func() { <-ctx.Done(); f.Shutdown() })
}
