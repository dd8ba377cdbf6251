package labtest_test

import (
	"context"
	"fmt"
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
