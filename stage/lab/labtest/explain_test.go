package labtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

const never = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-start}
spec:
  resourceRef: {kind: Pod}
  selector:
    matchExpressions: [{key: '.metadata.labels.start', operator: In, values: ['yes']}]
  next: {statusTemplate: 'phase: Running'}
`

func TestExplainSaysWhyNothingIsPlayed(t *testing.T) {
	lab := labtest.New(t, labtest.Options{})
	lab.Apply(podIn("default", "web"))
	pod := object("v1", "Pod", "web")
	require.Equal(t, "Pod default/web: no Stage is played: the Pod has no node yet\n", lab.Explain(pod))
	lab.Advance(0)
	require.Equal(t, "Pod default/web: no Stage is played: package stage/lab/controllers/kubelet does what the Pod says; these containers run until they are stopped: c\n", lab.Explain(pod))
	lab.Drive(pod, kstatustest.CrashLoopBackOff)
	require.Equal(t, "Pod default/web: no Stage is played: Drive holds the object\n", lab.Explain(pod))
}

func TestExplainFailsTheTestForAnObjectThatIsNotThere(t *testing.T) {
	said := failure(t, labtest.Options{}, func(lab *labtest.Lab) { lab.Explain(object("v1", "Pod", "web")) })
	require.Contains(t, said, "not found")
}

func TestWaitCurrentSaysWhichStageLacksWhat(t *testing.T) {
	stages := []stage.Source{stage.Parse("start.yaml", []byte(never))}
	said := failure(t, labtest.Options{OnlyStages: true, Stages: stages, Timeout: time.Minute}, func(lab *labtest.Lab) {
		lab.Apply("{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {nodeName: node-1, containers: [{name: c, image: i}]}}")
		lab.WaitCurrent()
	})
	require.Contains(t, said, "\n    Pod default/web: nothing happens: no stage matches; closest, 1 requirement short: \"pod-start\"\n")
	require.Contains(t, said, `✗ .metadata.labels.start In [yes]: saw nothing (spec.selector.matchExpressions[0], at start.yaml:8:24)`)
}
