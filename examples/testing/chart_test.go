package testing_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// TestTheChartComesUp plays an installation. Pods take some seconds to start, the StatefulSet
// starts them one after another, and the test takes no time at all.
func TestTheChartComesUp(t *testing.T) {
	chart, err := os.ReadFile("testdata/chart.yaml")
	require.NoError(t, err)
	lab := labtest.New(t, labtest.Options{OnlyStages: true, Stages: []stage.Source{presets.NodeFast(), presets.PodGeneral()}})
	began := lab.Now()
	lab.Apply(string(chart))
	lab.WaitCurrent()
	require.Less(t, lab.Now().Sub(began), 2*time.Minute)

	labtest.RequireCurrent(t, lab.Get("v1", "PersistentVolumeClaim", "data-shop-db-1"))
	require.Contains(t, lab.Get("v1", "Service", "shop").Object["status"], "loadBalancer")
}
