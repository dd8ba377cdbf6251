package labtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage"
)

// TestALabDoesNotGrowWithTime checks that what a lab remembers of objects goes with them: a
// Deployment is rolled out repeatedly, with failures.
func TestALabDoesNotGrowWithTime(t *testing.T) {
	lab := New(t, Options{Failures: []Failure{{State: kstatustest.CrashLoopBackOff, Rate: 0.3, For: time.Minute}}})
	lab.Apply(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 5
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web:0}]}
`)
	sizes := func() int { return len(lab.decided) + len(lab.occupants) + len(lab.streaks) }
	var first int
	for i := range 30 {
		patch := fmt.Appendf(nil, `{"spec": {"template": {"metadata": {"annotations": {"n": "%d"}}}}}`, i)
		_, err := lab.Cluster().Patch(t.Context(), schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, types.NamespacedName{Namespace: "default", Name: "web"}, "application/merge-patch+json", patch, metav1.PatchOptions{})
		require.NoError(t, err)
		lab.Advance(10 * time.Minute)
		if i == 4 {
			first = sizes()
		}
	}
	require.Positive(t, first)
	require.LessOrEqual(t, sizes(), first+10)
}

// TestALabForgetsOldErrors checks that the latest errors are kept, and the first livelock.
func TestALabForgetsOldErrors(t *testing.T) {
	lab := &Lab{}
	lab.keepError(fmt.Errorf("the first: %w", stage.ErrLivelock))
	for i := range 10 * mostKept {
		lab.keepError(fmt.Errorf("error %d", i))
	}
	require.LessOrEqual(t, len(lab.errors), mostKept)
	require.EqualError(t, lab.errors[len(lab.errors)-1], "error 99999")
	require.True(t, errors.Is(lab.livelock, stage.ErrLivelock))
}
