package labtest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

func largePod(name, more string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %[1]s, labels: {app: %[1]s}},
  spec: {%s containers: [{name: c, image: i, resources: {requests: {cpu: "30"}}}]}}`, name, more)
}

// TestPreemptionHeedsBudgets: of two Pods, the Pod whose budget allows it is preempted, although
// the other one was started later.
func TestPreemptionHeedsBudgets(t *testing.T) {
	for budget, victim := range map[string]string{"none": "late", "late": "early"} {
		lab := labtest.New(t, labtest.Options{Nodes: 2})
		lab.Apply(`{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}`,
			fmt.Sprintf(`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {maxUnavailable: 0, selector: {matchLabels: {app: %s}}}}`, budget),
			largePod("early", ""))
		lab.Advance(time.Minute)
		lab.Apply(largePod("late", ""))
		lab.Advance(time.Minute)
		lab.Apply(largePod("urgent", "priorityClassName: high,"))
		lab.Advance(time.Minute)
		require.NotEmpty(t, field(lab.Get("v1", "Pod", "urgent"), "spec", "nodeName"), budget)
		require.Empty(t, lab.List("v1", "Pod", "app="+victim), budget)
		require.Len(t, lab.List("v1", "Pod", ""), 2, budget)
	}
}
