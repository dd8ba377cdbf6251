package stagetest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage/stagetest"
)

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  progressDeadlineSeconds: 600
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
`

func TestLab(t *testing.T) {
	lab := stagetest.New(t, stagetest.LabOptions{})
	lab.Apply(web)
	lab.WaitCurrent()
	stagetest.RequireCurrent(t, lab.Get("apps/v1", "Deployment", "web"))
}

// A recorder is a test that goes on after it failed.
type recorder struct{ failures []string }

func (r *recorder) Helper() {}
func (r *recorder) Fatalf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func TestWaitCurrentSaysWhoIsToBlame(t *testing.T) {
	r := &recorder{}
	lab := stagetest.New(r, stagetest.LabOptions{Failures: []stagetest.Failure{{State: kstatustest.ImagePullBackOff, Rate: 1}}})
	lab.Apply(web)
	lab.WaitCurrent()
	require.Len(t, r.failures, 1)
	text := r.failures[0]
	require.Contains(t, text, "Deployment default/web is not Current")
	require.Contains(t, text, "ImagePullBackOff")
	t.Log(text)
}

func TestDriveHolds(t *testing.T) {
	lab := stagetest.New(t, stagetest.LabOptions{})
	lab.Apply(web)
	lab.WaitCurrent()
	deployment := lab.Get("apps/v1", "Deployment", "web")
	lab.Drive(deployment, kstatustest.Failed)
	lab.Advance(time.Hour)
	failed := lab.Get("apps/v1", "Deployment", "web")
	require.Contains(t, fmt.Sprint(failed.Object["status"]), "ProgressDeadlineExceeded")
	lab.Drive(deployment, stagetest.Ready)
	lab.WaitCurrent(deployment)
	require.False(t, strings.Contains(fmt.Sprint(lab.Get("apps/v1", "Deployment", "web").Object["status"]), "ProgressDeadlineExceeded"))
}
