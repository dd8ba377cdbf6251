package scheduler

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// callTime is how long a call takes that kube-scheduler makes in parallel to its cycles. Before the
// call has an effect, the scheduler has begun the next cycle, and has put aside the Pod for which
// it makes room.
const callTime = 100 * time.Microsecond

// slowClient is a client whose calls that bind, patch and delete Pods take callTime.
type slowClient struct{ *fake.Clientset }

func (c slowClient) CoreV1() typedcorev1.CoreV1Interface { return slowCore{c.Clientset.CoreV1()} }

type slowCore struct{ typedcorev1.CoreV1Interface }

func (c slowCore) Pods(namespace string) typedcorev1.PodInterface {
	return slowPods{c.CoreV1Interface.Pods(namespace)}
}

type slowPods struct{ typedcorev1.PodInterface }

func (p slowPods) Bind(ctx context.Context, b *corev1.Binding, o metav1.CreateOptions) error {
	time.Sleep(callTime)
	return p.PodInterface.Bind(ctx, b, o)
}

func (p slowPods) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	time.Sleep(callTime)
	return p.PodInterface.Delete(ctx, name, o)
}

func (p slowPods) Patch(ctx context.Context, name string, t types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*corev1.Pod, error) {
	time.Sleep(callTime)
	return p.PodInterface.Patch(ctx, name, t, data, o, sub...)
}
