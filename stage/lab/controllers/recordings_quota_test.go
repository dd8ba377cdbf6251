package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/dev/recording"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/admission"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/quota"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/scheduling"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/workloads"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// TestTheRecordingWithAQuota plays the recording with a quota in real time, in which the Deployment is
// reconciled between two reconciles of its ReplicaSet: that decides the order of its conditions.
func TestTheRecordingWithAQuota(t *testing.T) {
	const name = "deployment-quota"
	data, err := os.ReadFile("testdata/recordings/" + name + ".yaml")
	require.NoError(t, err)
	want, err := recording.Parse(data)
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.New(memory.Options{})
		cluster.Extend(admission.Hooks())
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			_ = player.Play(ctx, stage.MustCompile(recording.Kubelet(), presets.NodeFast()), cluster, player.Options{})
		})
		all.Go(func() {
			_ = reconcile.Play(ctx, cluster, reconcile.PlayOptions{}, workloads.Deployments(), quota.ResourceQuotas())
		})
		all.Go(func() {
			o := reconcile.PlayOptions{}
			o.MinInterval = 10 * time.Millisecond // so that the Deployment is reconciled between two reconciles of its ReplicaSet, as in the recording
			_ = reconcile.Play(ctx, cluster, o, workloads.ReplicaSets(), scheduling.Scheduler(scheduling.Options{}))
		})
		require.NoError(t, cluster.Load(ctx, fmt.Appendf(nil, "{apiVersion: v1, kind: Node, metadata: {name: %s1}}", recording.NodePrefix)))
		time.Sleep(time.Second)
		got, err := recording.New(slowClient{cluster}, "rec-quota", want).Record(ctx, settleInBubble)
		require.NoError(t, err)
		for i, phase := range want.Phases {
			comparison{kinds: want.Kinds, used: make([]int, len(differences))}.require(t, phase, got.Phases[i])
		}
		cancel()
		all.Wait()
	})
}

// A slowClient creates objects as slowly as a client over a network. Until the quota controller has
// written the status of a new quota, that quota refuses nothing.
type slowClient struct{ *memory.Cluster }

func (c slowClient) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	defer time.Sleep(time.Millisecond)
	return c.Cluster.Create(ctx, obj, o)
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
