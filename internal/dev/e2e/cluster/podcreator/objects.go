package podcreator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
)

// NewClient returns a client that uses little CPU, because the program that is measured needs the
// machine.
func NewClient(config *rest.Config) (*kubernetes.Clientset, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = config.ContentType + ",application/json"
	return kubernetes.NewForConfig(config)
}

// NewNode returns a node as users of kwok make them.
func NewNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"type": "fake"}, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}}}
}

// NewPod returns a pod with one container on a node.
func NewPod(name, node string) *corev1.Pod {
	requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")}
	container := corev1.Container{Name: "c", Image: "example.test/image:1", Resources: corev1.ResourceRequirements{Requests: requests}}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "podcreator"}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{container}},
	}
}

// Follow calls see for every change of a pod in a namespace from now on, from its own goroutine,
// until ctx is done. If a busy server closes the watch, Follow continues where it ended.
func Follow(ctx context.Context, client kubernetes.Interface, namespace string, see func(watch.EventType, *corev1.Pod)) error {
	pods := client.CoreV1().Pods(namespace)
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the pods of %s: %w", namespace, err)
	}
	from := &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return pods.Watch(ctx, o) }}
	w, err := toolswatch.NewRetryWatcherWithContext(ctx, list.ResourceVersion, from)
	if err != nil {
		return fmt.Errorf("watching the pods of %s: %w", namespace, err)
	}
	go func() {
		for e := range w.ResultChan() {
			if pod, ok := e.Object.(*corev1.Pod); ok {
				see(e.Type, pod)
			}
		}
	}()
	return nil
}
