package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/dev/recording"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/controllers/scheduling"
	"github.com/stagecraft-go/stagecraft/stage/controllers/workloads"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// onePod refuses a second Pod as the quota of the recording does.
type onePod struct{ player.Transport }

func (o onePod) Create(ctx context.Context, obj *unstructured.Unstructured, opts metav1.CreateOptions) (*unstructured.Unstructured, error) {
	if obj.GetKind() != "Pod" {
		return o.Transport.Create(ctx, obj, opts)
	}
	there, err := o.List(ctx, clustertest.Kind("Pod"), obj.GetNamespace(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	if len(there.Items) > 0 {
		why := errors.New("exceeded quota: one, requested: pods=1, used: pods=1, limited: pods=1")
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, obj.GetGenerateName()+"x7k2p", why)
	}
	return o.Transport.Create(ctx, obj, opts)
}

// TestTheRecordingWithAQuota plays the recording that needs a quota.
func TestTheRecordingWithAQuota(t *testing.T) {
	const name = "deployment-quota"
	data, err := os.ReadFile("testdata/recordings/" + name + ".yaml")
	require.NoError(t, err)
	want, err := recording.Parse(data)
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.New(memory.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			_ = player.Play(ctx, stage.MustCompile(recording.Kubelet(), presets.NodeFast()), cluster, player.Options{})
		})
		all.Go(func() { _ = reconcile.Play(ctx, cluster, reconcile.PlayOptions{}, workloads.Deployments()) })
		all.Go(func() {
			o := reconcile.PlayOptions{}
			o.MinInterval = 10 * time.Millisecond // so that the Deployment is reconciled between two reconciles of its ReplicaSet, as in the recording
			_ = reconcile.Play(ctx, onePod{cluster}, o, workloads.ReplicaSets(), scheduling.Scheduler(scheduling.Options{}))
		})
		require.NoError(t, cluster.Load(ctx, fmt.Appendf(nil, "{apiVersion: v1, kind: Node, metadata: {name: %s1}}", recording.NodePrefix)))
		time.Sleep(time.Second)
		got, err := recording.New(cluster, "rec-quota", want).Record(ctx, settleInBubble)
		require.NoError(t, err)
		for i, phase := range want.Phases {
			withoutQuota(&phase)
			withoutQuota(&got.Phases[i])
			comparison{recording: name, kinds: want.Kinds, used: make([]int, len(differences))}.require(t, phase, got.Phases[i])
		}
		cancel()
		all.Wait()
	})
}

// settleInBubble is a recording.WaitSettled in the time of synctest.
func settleInBubble(ctx context.Context, look func(context.Context) (recording.Progress, error)) error {
	for range 100 {
		time.Sleep(recording.QuietPeriod)
		state, err := look(ctx)
		if err != nil || state.Done {
			return err
		}
	}
	return errors.New("the phase does not end")
}

// withoutQuota removes the quota, whose status is written by a controller that is not here.
func withoutQuota(p *recording.Phase) {
	p.Objects = slices.DeleteFunc(p.Objects, func(obj map[string]any) bool { return obj["kind"] == "ResourceQuota" })
}
