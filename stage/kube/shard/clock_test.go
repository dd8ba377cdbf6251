package shard_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/kube/shard"
)

// jumping is a link of a process whose clock differs from other clocks, and jumps.
type jumping struct {
	*link
	clock func() time.Duration // the difference between the clock and the true time
}

func (j *jumping) shift(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	for _, field := range []string{"acquireTime", "renewTime"} {
		if text, ok, _ := unstructured.NestedString(obj.Object, "spec", field); ok {
			at, err := time.Parse(metav1.RFC3339Micro, text)
			if err == nil {
				_ = unstructured.SetNestedField(obj.Object, at.Add(j.clock()).Format(metav1.RFC3339Micro), "spec", field)
			}
		}
	}
	return obj
}

func (j *jumping) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	return j.link.Create(ctx, j.shift(obj), o)
}

func (j *jumping) Update(ctx context.Context, obj *unstructured.Unstructured, o metav1.UpdateOptions, subresources ...string) (*unstructured.Unstructured, error) {
	return j.link.Update(ctx, j.shift(obj), o, subresources...)
}

// startJumping starts a process with its own clock.
func (r *rig) startJumping(name string, clock func() time.Duration) {
	l := &link{Cluster: r.cluster}
	m, err := shard.New(&jumping{l, clock}, shard.Options{Identity: name, Failed: r.failed})
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(r.t.Context())
	r.members[name] = &running{m, l, cancel}
	r.all.Go(func() { _ = m.Run(ctx, func() {}) })
}

// The clocks of processes can show any time and jump at any moment. Each process keeps its share,
// and no object has two owners. A process that dies hands over as soon as with right clocks.
func TestTimesInLeasesDoNotMatter(t *testing.T) {
	const years = 10 * 365 * 24 * time.Hour
	play(t, func(r *rig) {
		begun := time.Now()
		r.startJumping("ahead", func() time.Duration { return years })
		r.startJumping("behind", func() time.Duration { return -years })
		r.startJumping("jumps", func() time.Duration { // an hour to and fro, at every look
			return time.Duration(int(time.Since(begun)/time.Second)%2*2-1) * time.Hour
		})
		r.pass(10 * time.Second)
		require.Equal(t, []string{"ahead", "behind", "jumps"}, r.share())
		for range 20 {
			r.pass(duration)
			require.Equal(t, []string{"ahead", "behind", "jumps"}, r.share())
		}
		r.kill("ahead")
		require.LessOrEqual(t, r.settle(duration+5*time.Second), duration+5*time.Second)
		require.Equal(t, []string{"behind", "jumps"}, r.share())
		r.pass(5 * duration)
	})
}
