package kubelet_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/kubelet"
)

const ofJob = ", ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: j, controller: true}]"

// TestUnknownCommands: a container whose command is not known ends after a second where its Pod is
// meant to end, unless it runs forever by its nature.
func TestUnknownCommands(t *testing.T) {
	const ends, runs = "1s Succeeded", "0s Running"
	for name, c := range map[string]struct{ container, policy, metadata, want string }{
		"unknown, of a Job":             {"command: [migrate, up]", "Never", ofJob, ends},
		"unknown, of a Job, OnFailure":  {"args: [--once]", "OnFailure", ofJob, ends},
		"no command, of a Job":          {"", "Never", ofJob, ends},
		"a script, of a Job":            {`command: [sh, -c, "until pg_isready; do sleep 2; done; migrate"]`, "Never", ofJob, ends},
		"pause, of a Job":               {"image: registry.k8s.io/pause:3.10", "Never", ofJob, runs},
		"unknown, Never":                {"command: [migrate]", "Never", "", ends},
		"unknown, OnFailure":            {"command: [migrate]", "OnFailure", "", ends},
		"no command, Never":             {"", "Never", "", runs},
		"unknown, Always":               {"command: [serve]", "Always", "", runs},
		"no command, Always":            {"", "Always", "", runs},
		"unknown, Always, of a Job":     {"command: [serve]", "Always", ofJob, runs},
		"sleep infinity":                {"command: [sleep, infinity]", "Never", ofJob, runs},
		"sleep inf by a path":           {"command: [/bin/sleep, inf]", "Never", ofJob, runs},
		"sleep for days":                {`command: [sleep, "1000000"]`, "Never", ofJob, runs},
		"tail -f":                       {"command: [tail, -f, /dev/null]", "Never", ofJob, runs},
		"tail with other flags":         {`command: [tail, -n, "0", -F, log]`, "Never", ofJob, runs},
		"tail without a flag":           {"command: [tail, log]", "Never", ofJob, ends},
		"pause by its command":          {"command: [/pause]", "Never", ofJob, runs},
		"a script that waits":           {`command: [sh, -c, "prepare && exec sleep infinity"]`, "Never", ofJob, runs},
		"a script with an endless loop": {`command: [/bin/bash, -ec, "while true; do work; sleep 5; done"]`, "Never", ofJob, runs},
		"a wrapper":                     {"command: [tini, --, tail, --follow=name, log]", "Never", ofJob, runs},
		"known":                         {`command: [sh, -c, "sleep 1; exit 0"]`, "Never", ofJob, ends},
	} {
		t.Run(name, func(t *testing.T) {
			image := "image: i, "
			if c.container != "" && c.container[0] == 'i' {
				image = ""
			}
			spec := fmt.Sprintf("restartPolicy: %s, containers: [{name: a, %s%s}]", c.policy, image, c.container)
			lines := play(t, parse(t, spec, c.metadata), 24*time.Hour)
			require.Contains(t, lines[len(lines)-1], c.want)
			forEver := kubelet.RunForEver(parse(t, spec, c.metadata), kubelet.Options{})
			require.Equal(t, c.want == runs, len(forEver) == 1)
			if name == "known" {
				return
			}
			o := kubelet.Options{RunUnknown: true}
			step, err := kubelet.Next(parse(t, spec, c.metadata), start, o)
			require.NoError(t, err)
			require.Zero(t, step.Next, "it runs until it is stopped")
		})
	}
}

// TestUnknownCommandsHandleSignals: a container that would end after a second ends at once if its Pod
// is deleted before, like others whose command is not known.
func TestUnknownCommandsHandleSignals(t *testing.T) {
	spec := "restartPolicy: Never, containers: [{name: a, image: i, command: [migrate]}]"
	pod := parse(t, spec, fmt.Sprintf(", deletionGracePeriodSeconds: 30, deletionTimestamp: %q", start.Add(30*time.Second).Format(time.RFC3339)))
	running := parse(t, spec, "")
	step, err := kubelet.Next(running, start, kubelet.Options{})
	require.NoError(t, err)
	pod.Object["status"] = step.Status
	step, err = kubelet.Next(pod, start, kubelet.Options{})
	require.NoError(t, err)
	require.True(t, step.Delete)
	require.Contains(t, fmt.Sprint(step.Status), "exitCode:143")
}
