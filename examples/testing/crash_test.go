package testing_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stagecraft-go/stagecraft/examples/testing/website"
	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// TestAVersionThatCrashesIsTakenBack: each Pod of v2 crashes repeatedly.
func TestAVersionThatCrashesIsTakenBack(t *testing.T) {
	ofV2 := labels.SelectorFromSet(labels.Set{"version": "v2"})
	lab, c := newLab(t, labtest.Failure{State: kstatustest.CrashLoopBackOff, Rate: 1, Selector: ofV2})
	lab.Apply(site)
	lab.WaitCurrent()
	lab.Apply(strings.Replace(site, "version: v1", "version: v2", 1))
	lab.Settle()

	var home website.Website
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "home"}, &home))
	ready := meta.FindStatusCondition(home.Status.Conditions, "Ready")
	require.Equal(t, "RolledBack", ready.Reason)
	require.Equal(t, "v2 does not come up, v1 runs", ready.Message)

	lab.WaitCurrent(lab.Get("apps/v1", "Deployment", "home"))
	lab.Apply(strings.Replace(site, "version: v1", "version: v3", 1))
	lab.WaitCurrent()
}
