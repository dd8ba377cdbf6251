package nodes_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/kube/nodes"
)

// jumping is the cluster as a process sees it whose clock shows other times, and jumps.
type jumping struct {
	nodes.Cluster
	clock func() time.Duration // the difference between the clock and the true time
}

func (j jumping) shift(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	for _, field := range []string{"acquireTime", "renewTime"} {
		text, _, _ := unstructured.NestedString(obj.Object, "spec", field)
		if at, err := time.Parse(metav1.RFC3339Micro, text); err == nil {
			_ = unstructured.SetNestedField(obj.Object, at.Add(j.clock()).Format(metav1.RFC3339Micro), "spec", field)
		}
	}
	return obj
}

func (j jumping) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	return j.Cluster.Create(ctx, j.shift(obj), o)
}

func (j jumping) Update(ctx context.Context, obj *unstructured.Unstructured, o metav1.UpdateOptions, subresources ...string) (*unstructured.Unstructured, error) {
	return j.Cluster.Update(ctx, j.shift(obj), o, subresources...)
}

// The clocks of two processes can show any time and jump at any moment. The process with the Lease
// of a Node keeps it, and never do both play the Node. When the first process ends, the other takes
// the Lease after the duration.
func TestTimesInLeasesOfNodesDoNotMatter(t *testing.T) {
	const years = 10 * 365 * 24 * time.Hour
	for name, clocks := range map[string][2]time.Duration{
		"the first is behind": {-years, years}, "the first is ahead": {years, -years}, "both are behind": {-years, -years},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *scene) {
				begun := time.Now()
				jump := func(by time.Duration) func() time.Duration {
					return func() time.Duration { return by + time.Duration(int(time.Since(begun)/quarter)%2*2-1)*time.Hour }
				}
				first := s.runOn(jumping{s.cluster, jump(clocks[0])}, nodes.Options{Lease: nodes.Lease{Identity: "first"}})
				n := s.create(node("n", nil, nil))
				second := s.runOn(jumping{s.cluster, jump(clocks[1])}, nodes.Options{Lease: nodes.Lease{Identity: "second"}})
				for range 100 {
					time.Sleep(latest)
					require.True(t, first.Plays(n))
					require.False(t, second.Plays(n))
				}
				s.stop[0]()
				ended := time.Now()
				for !second.Plays(n) {
					require.Less(t, time.Since(ended), duration+2*latest)
					time.Sleep(time.Second)
					require.False(t, first.Plays(n) && second.Plays(n))
				}
				require.Greater(t, time.Since(ended), duration-latest-time.Second, "the first may live until then")
			})
		})
	}
}
