// Command floor does the least work of a simulator of pods, as a lower bound for measurements: an
// informer of typed objects, one constant status patch for every pod, and one delete. It makes no
// decision and renders nothing, so its cost is the cost of the client and the requests.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the cluster")
	workers := flag.Int("workers", 4, "requests under way at once")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig, *workers); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig string, workers int) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	changes := make(chan func(context.Context), 100_000)
	factory := informers.NewSharedInformerFactory(client, 0)
	f := floor{client}
	onChange(factory.Core().V1().Nodes().Informer(), func(obj any) { changes <- func(ctx context.Context) { f.node(ctx, obj.(*corev1.Node)) } })
	onChange(factory.Core().V1().Pods().Informer(), func(obj any) { changes <- func(ctx context.Context) { f.pod(ctx, obj.(*corev1.Pod)) } })
	factory.Start(ctx.Done())
	for range workers {
		go func() {
			for change := range changes {
				change(ctx)
			}
		}()
	}
	<-ctx.Done()
	return nil
}

func onChange(informer cache.SharedIndexInformer, see func(any)) {
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, obj any) { see(obj) }})
}

type floor struct{ client kubernetes.Interface }

func (f floor) node(ctx context.Context, node *corev1.Node) {
	if node.Status.Phase == corev1.NodeRunning {
		return
	}
	patch := fmt.Appendf(nil, `{"status":{"phase":"Running","capacity":{"cpu":"1k","memory":"1Ti","pods":"1M"},"allocatable":{"cpu":"1k","memory":"1Ti","pods":"1M"},
		"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":%[1]q,"lastTransitionTime":%[1]q}]}}`, time.Now().UTC().Format(time.RFC3339))
	_, err := f.client.CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	report(ctx, err)
}

func (f floor) pod(ctx context.Context, pod *corev1.Pod) {
	switch grace := pod.DeletionGracePeriodSeconds; {
	case pod.DeletionTimestamp != nil && grace != nil && *grace > 0:
		report(ctx, f.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	case pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodPending:
		_, err := f.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, running(pod), metav1.PatchOptions{}, "status")
		report(ctx, err)
	}
}

func running(pod *corev1.Pod) []byte {
	c := pod.Spec.Containers[0]
	return fmt.Appendf(nil, `{"status":{"phase":"Running","podIP":"10.0.0.9","podIPs":[{"ip":"10.0.0.9"}],"hostIP":"127.0.0.1","hostIPs":[{"ip":"127.0.0.1"}],"startTime":%[1]q,
		"conditions":[{"type":"Initialized","status":"True","lastTransitionTime":%[1]q},{"type":"Ready","status":"True","lastTransitionTime":%[1]q},
			{"type":"ContainersReady","status":"True","lastTransitionTime":%[1]q}],
		"containerStatuses":[{"name":%[2]q,"image":%[3]q,"ready":true,"restartCount":0,"state":{"running":{"startedAt":%[1]q}}}]}}`,
		time.Now().UTC().Format(time.RFC3339), c.Name, c.Image)
}

func report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
	}
}
