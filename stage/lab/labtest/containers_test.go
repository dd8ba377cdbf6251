package labtest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// TestLogsOfALab: known commands print what they say at the time of the lab, in each of their runs.
func TestLogsOfALab(t *testing.T) {
	lab := labtest.New(t, labtest.Options{})
	lab.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {restartPolicy: OnFailure, containers: [
  {name: c, image: i, command: [sh, -c, "echo one; sleep 60; echo two; exit 1"]}]}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: unknown}, spec: {containers: [{name: c, image: i, command: [serve]}]}}`)
	lab.Advance(10 * time.Second)
	text, err := lab.Logs("p", containers.LogOptions{})
	require.NoError(t, err)
	require.Equal(t, "one\n", text)
	lab.Advance(55 * time.Second)
	text, err = lab.Logs("default/p", containers.LogOptions{Previous: true, Timestamps: true})
	require.NoError(t, err)
	require.Equal(t, "2006-01-02T15:04:05.000000000Z one\n2006-01-02T15:05:05.000000000Z two\n", text)
	_, err = lab.Logs("unknown", containers.LogOptions{})
	require.ErrorIs(t, err, containers.ErrNotSimulated)
}

// TestExecInALab is exec as a plain call.
func TestExecInALab(t *testing.T) {
	lab := labtest.New(t, labtest.Options{Containers: containers.Options{Exec: func(_ context.Context, c containers.Container, command containers.Command) (int, error) {
		fmt.Fprintf(command.Stdout, "%s in %s of run %d", command.Argv, c.Name, c.Run)
		return 2, nil
	}}})
	lab.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}`)
	lab.WaitCurrent()
	result, err := lab.Exec("p", "", "ls", "-l")
	require.NoError(t, err)
	require.Equal(t, labtest.ExecResult{Stdout: "[ls -l] in c of run 0", Code: 2}, result)
	_, err = lab.Exec("p", "d", "ls")
	require.EqualError(t, err, "container d is not valid for pod p")
}

// TestAnAutoscalerFollowsUsage: what containers use drives a HorizontalPodAutoscaler, except for Pods
// whose annotations say something else.
func TestAnAutoscalerFollowsUsage(t *testing.T) {
	cpu := "80m"
	lab := labtest.New(t, labtest.Options{Containers: containers.Options{Usage: func(containers.Container, time.Time) (containers.Usage, error) {
		return containers.Usage{CPU: resource.MustParse(cpu)}, nil
	}}})
	lab.Apply(`
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {maxReplicas: 4, scaleTargetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: web}}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}, template: {
  metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]}}}}
`)
	lab.WaitCurrent()
	lab.Advance(time.Minute)
	require.Len(t, lab.List("v1", "Pod", "app=web"), 1)
	cpu = "160m"
	lab.Advance(time.Minute)
	require.Greater(t, len(lab.List("v1", "Pod", "app=web")), 1)
}

// TestUsageErrorsAreLogged: a test log and the autoscaler name the Pod whose usage has an error, and
// other Pods still count.
func TestUsageErrorsAreLogged(t *testing.T) {
	broken := func(containers.Container) bool { return true }
	l := &logging{T: t}
	lab := labtest.New(l, labtest.Options{Quiet: true, Containers: containers.Options{Usage: func(c containers.Container, _ time.Time) (containers.Usage, error) {
		if broken(c) {
			return containers.Usage{}, errors.New("out of luck")
		}
		return containers.Usage{CPU: resource.MustParse("250m")}, nil
	}}})
	lab.Apply(`
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {maxReplicas: 4, scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: web}}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web}, spec: {replicas: 2, serviceName: web, selector: {matchLabels: {app: web}}, template: {
  metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]}}}}
`)
	for range 3 {
		lab.Advance(time.Minute)
	}
	text := strings.Join(l.lines, "\n")
	for _, pod := range []string{"web-0", "web-1"} {
		require.Equal(t, 1, strings.Count(text, `the usage of container "c" of Pod default/`+pod+": out of luck"), text)
	}
	hpa := func() string {
		return fmt.Sprint(lab.Get("autoscaling/v2", "HorizontalPodAutoscaler", "web").Object["status"])
	}
	require.Contains(t, hpa(), `unable to get metrics for resource cpu: the usage of container "c" of Pod default/web-0: out of luck`)
	broken = func(c containers.Container) bool { return c.Pod.GetName() == "web-0" }
	lab.Advance(time.Minute)
	require.NotContains(t, hpa(), "out of luck")
	require.Greater(t, len(lab.List("v1", "Pod", "app=web")), 2)
}
