package stagetest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/stagetest"
)

func TestWaitCurrentSaysWhatIsMissingAndWhoIsToBlame(t *testing.T) {
	said := failure(t, stagetest.LabOptions{Failures: []stagetest.Failure{{State: kstatustest.ImagePullBackOff, Rate: 1}}}, func(lab *stagetest.Lab) {
		lab.Apply(web, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
		lab.WaitCurrent()
	})
	for _, want := range []string{
		"stagetest: Deployment default/web is not Current",
		"standard profile: Failed ProgressDeadlineExceeded: Progress deadline exceeded",
		"status.availableReplicas: missing: 3",
		`status.conditions[type="Progressing"].reason: "ProgressDeadlineExceeded", should be "NewReplicaSetAvailable"`,
		"ReplicaSet default/web-",
		"Pod default/web-",
		"ImagePullBackOff",
	} {
		require.Contains(t, said, want)
	}
	require.NotContains(t, said, "ConfigMap")
	require.NotContains(t, said, "terminatingReplicas: 0")
	require.NotContains(t, said, "minimum availability.", "messages differ by nature")
}

func TestWaitCurrentNamesWhatIsGone(t *testing.T) {
	said := failure(t, stagetest.LabOptions{}, func(lab *stagetest.Lab) {
		lab.Apply(web)
		lab.WaitCurrent(object("apps/v1", "Deployment", "web"), object("v1", "Service", "web"))
	})
	require.Equal(t, "stagetest: Service default/web is not there", said)
}

func TestWaitCurrentWaitsForAPatience(t *testing.T) {
	var lab *stagetest.Lab
	said := failure(t, stagetest.LabOptions{Timeout: time.Minute}, func(l *stagetest.Lab) {
		lab = l
		l.Apply(`{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly}, spec: {schedule: '@hourly',
  jobTemplate: {spec: {template: {spec: {containers: []}}}}}}`, object("v1", "Service", "web"))
		l.WaitCurrent(object("v1", "Pod", "web"))
	})
	require.Contains(t, said, "Pod default/web is not there")
	require.LessOrEqual(t, lab.Now().Sub(time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)), time.Minute)
}

func TestWaitCurrentTellsWhatControllersFailedWith(t *testing.T) {
	broken := reconcile.Controller{Name: "broken", For: pods, Reconcile: func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, errors.New("no luck")
	}}
	said := failure(t, stagetest.LabOptions{Controllers: []reconcile.Controller{broken}, Timeout: time.Second}, func(lab *stagetest.Lab) {
		lab.Apply(podIn("default", "web"))
		lab.Drive(object("v1", "Pod", "web"), kstatustest.Pending)
		lab.WaitCurrent()
	})
	require.Contains(t, said, "Pod default/web is not Current")
	require.NotContains(t, said, "no luck", "it does not touch what is held")
	said = failure(t, stagetest.LabOptions{Controllers: []reconcile.Controller{broken}, Timeout: time.Second}, func(lab *stagetest.Lab) {
		lab.Apply(podIn("default", "web"))
		lab.WaitCurrent(object("v1", "Pod", "other"))
	})
	require.Contains(t, said, "broken default/web: no luck")
}

func TestWaitCurrentGivesThoseWhoFollowTheirTime(t *testing.T) {
	var passed time.Duration
	said := failure(t, stagetest.LabOptions{Timeout: 90 * time.Second, Sync: func(d time.Duration) { passed += d }}, func(lab *stagetest.Lab) {
		lab.WaitCurrent(object("v1", "Pod", "web"))
	})
	require.Equal(t, "stagetest: Pod default/web is not there", said)
	require.Equal(t, 90*time.Second, passed)
}
