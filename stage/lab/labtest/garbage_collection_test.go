package labtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

func TestGarbageCollectionTakesTime(t *testing.T) {
	lab := labtest.New(t, labtest.Options{GarbageCollection: &simulation.GarbageCollection{Delay: 10 * time.Second}})
	lab.Apply(twoReplicas)
	lab.WaitCurrent()
	left := func() [3]int {
		return [3]int{len(lab.List("apps/v1", "Deployment", "")), len(lab.List("apps/v1", "ReplicaSet", "")), len(lab.List("v1", "Pod", ""))}
	}
	lab.Delete(object("apps/v1", "Deployment", "web"))
	lab.Advance(9 * time.Second)
	require.Equal(t, [3]int{0, 1, 2}, left())
	lab.Advance(time.Second)
	require.Equal(t, [3]int{0, 0, 2}, left())
	require.Nil(t, lab.List("v1", "Pod", "")[0].GetDeletionTimestamp())
	lab.Advance(10 * time.Second)
	lab.Settle()
	require.Equal(t, [3]int{}, left())
}
