package labtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

const twoReplicas = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}
`

// aNodeFails is a lab with a Deployment whose Node has failed. It returns a Pod of that Node.
func aNodeFails(t *testing.T, fail func(*labtest.Lab, string)) (lab *labtest.Lab, pod string) {
	lab = labtest.New(t, labtest.Options{Nodes: 2})
	lab.Apply(twoReplicas)
	lab.WaitCurrent()
	lost := lab.List("v1", "Pod", "app=web")[0]
	fail(lab, field(lost, "spec", "nodeName").(string))
	return lab, lost.GetName()
}

func TestANodeIsDrivenNotReady(t *testing.T) {
	var node string
	lab, pod := aNodeFails(t, func(l *labtest.Lab, name string) {
		node = name
		l.Drive(object("v1", "Node", name), kstatustest.NotReady)
	})
	lab.Advance(10 * time.Second)
	require.EqualValues(t, 1, field(lab.Get("apps/v1", "Deployment", "web"), "status", "readyReplicas"))
	lab.Advance(4 * time.Minute)
	require.Nil(t, lab.Get("v1", "Pod", pod).GetDeletionTimestamp())
	lab.WaitCurrent()
	require.NotNil(t, lab.Get("v1", "Pod", pod).GetDeletionTimestamp(), "evicted, and nobody removes it")
	require.Equal(t, "Pod default/"+pod+": no Stage is played: its node is gone, or does not report\n", lab.Explain(object("v1", "Pod", pod)))
	lab.Drive(object("v1", "Node", node), labtest.Ready)
	lab.Settle()
	require.Len(t, lab.List("v1", "Pod", "app=web"), 2, "it is gone")
	require.Nil(t, field(lab.Get("v1", "Node", node), "spec", "taints"))
}

func TestANodeIsDeleted(t *testing.T) {
	lab, pod := aNodeFails(t, func(l *labtest.Lab, name string) { l.Delete(object("v1", "Node", name)) })
	lab.Advance(30 * time.Second)
	require.Equal(t, "Running", field(lab.Get("v1", "Pod", pod), "status", "phase"))
	lab.Advance(30 * time.Second)
	var names []string
	for _, p := range lab.List("v1", "Pod", "app=web") {
		names = append(names, p.GetName())
	}
	require.Len(t, names, 2)
	require.NotContains(t, names, pod, "the garbage collector has deleted it")
	lab.WaitCurrent()
}
