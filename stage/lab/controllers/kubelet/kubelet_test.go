package kubelet_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/kubelet"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// parse returns a Pod of a spec, with other fields of metadata.
func parse(t *testing.T, spec, metadata string) *unstructured.Unstructured {
	t.Helper()
	pod := &unstructured.Unstructured{}
	text := fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default, uid: u%s}, spec: {nodeName: n, %s}}", metadata, spec)
	require.NoError(t, yaml.Unmarshal([]byte(text), &pod.Object))
	return &unstructured.Unstructured{Object: deepInts(pod.Object).(map[string]any)}
}

// deepInts makes integers of the numbers that YAML gives.
func deepInts(v any) any {
	switch v := v.(type) {
	case float64:
		return int64(v)
	case map[string]any:
		for key := range v {
			v[key] = deepInts(v[key])
		}
	case []any:
		for i := range v {
			v[i] = deepInts(v[i])
		}
	}
	return v
}

// play applies due steps until an end, and returns a line for each change that matters.
func play(t *testing.T, pod *unstructured.Unstructured, end time.Duration) (lines []string) {
	t.Helper()
	now, before := start, ""
	for range 1000 {
		step, err := kubelet.Next(pod, now, kubelet.Options{UnpullableImages: []string{"gone"}})
		require.NoError(t, err)
		requireProgress(t, pod, step, now)
		pod.Object["status"] = step.Status
		again, err := kubelet.Next(pod, now, kubelet.Options{UnpullableImages: []string{"gone"}})
		require.NoError(t, err)
		require.Equal(t, step.Status, again.Status, "idempotent")
		require.Empty(t, again.Events)
		require.Equal(t, step.Delete, again.Delete)
		if line := summary(step); line != before {
			lines, before = append(lines, fmt.Sprintf("%s %s", now.Sub(start), line)), line
		}
		if step.Next.IsZero() || step.Next.After(start.Add(end)) {
			return lines
		}
		require.True(t, step.Next.After(now), "time goes on")
		now = step.Next
	}
	require.Fail(t, "no end")
	return nil
}

// requireProgress checks that restarts never fall and that nothing is dated to the future.
func requireProgress(t *testing.T, before *unstructured.Unstructured, step kubelet.Step, now time.Time) {
	t.Helper()
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		old, _, _ := unstructured.NestedSlice(before.Object, "status", field)
		next, _, _ := unstructured.NestedSlice(step.Status, field)
		for i, s := range next {
			if i < len(old) {
				require.GreaterOrEqual(t, s.(map[string]any)["restartCount"], old[i].(map[string]any)["restartCount"])
			}
		}
	}
	for _, text := range times(step.Status) {
		at, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		require.False(t, at.After(now), "%s at %s", text, now)
	}
}

func times(v any) (found []string) {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			if text, ok := e.(string); ok && (strings.HasSuffix(key, "At") || strings.HasSuffix(key, "Time")) {
				found = append(found, text)
			}
			found = append(found, times(e)...)
		}
	case []any:
		for _, e := range v {
			found = append(found, times(e)...)
		}
	}
	return found
}

func summary(step kubelet.Step) string {
	words := []string{fmt.Sprint(step.Status["phase"])}
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		list, _, _ := unstructured.NestedSlice(step.Status, field)
		for _, s := range list {
			words = append(words, containerSummary(s.(map[string]any)))
		}
	}
	conditions, _, _ := unstructured.NestedSlice(step.Status, "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == "Ready" && c["status"] == "True" {
			words = append(words, "Ready")
		}
	}
	if step.Delete {
		words = append(words, "deleted")
	}
	return strings.Join(words, " ")
}

func containerSummary(s map[string]any) string {
	state := s["state"].(map[string]any)
	text := "running"
	if w, ok := state["waiting"].(map[string]any); ok {
		text = fmt.Sprint(w["reason"])
	} else if e, ok := state["terminated"].(map[string]any); ok {
		text = fmt.Sprint("exit", e["exitCode"])
	}
	return fmt.Sprintf("%s=%s/%d", s["name"], text, s["restartCount"])
}

var cases = []struct {
	name, spec, metadata string
	want                 []string
}{
	{"any other container runs for ever", `containers: [{name: a, image: nginx}]`, "", []string{"0s Running a=running/0 Ready"}},
	{"sleep, Never", `restartPolicy: Never, containers: [{name: a, image: b, command: [sleep, "30"]}]`, "", []string{"0s Running a=running/0 Ready", "30s Succeeded a=exit0/0"}},
	{"a script, Never", `restartPolicy: Never, containers: [{name: a, image: b, command: [sh, -c, "sleep 1m; exit 3"]}]`, "", []string{"0s Running a=running/0 Ready", "1m0s Failed a=exit3/0"}},
	{"one fails, Never", `restartPolicy: Never, containers: [{name: a, image: b, command: ["true"]}, {name: b, image: b, args: ["false"]}]`, "", []string{"0s Failed a=exit0/0 b=exit1/0"}},
	{"success, OnFailure", `restartPolicy: OnFailure, containers: [{name: a, image: b, command: [/bin/true]}]`, "", []string{"0s Succeeded a=exit0/0"}},
	{"crash loop", `containers: [{name: a, image: b, command: [sh, -c, exit 1]}]`, "", []string{
		"0s Running a=exit1/1", "9s Running a=CrashLoopBackOff/1", "10s Running a=exit1/2", "29s Running a=CrashLoopBackOff/2", "30s Running a=exit1/3",
		"1m9s Running a=CrashLoopBackOff/3", "1m10s Running a=exit1/4", "2m10s Running a=CrashLoopBackOff/4", "2m30s Running a=exit1/5",
		"3m30s Running a=CrashLoopBackOff/5", "5m10s Running a=exit1/6", "6m10s Running a=CrashLoopBackOff/6", "10m10s Running a=exit1/7",
		"11m10s Running a=CrashLoopBackOff/7", "15m10s Running a=exit1/8", "16m10s Running a=CrashLoopBackOff/8", "20m10s Running a=exit1/9",
		"21m10s Running a=CrashLoopBackOff/9", "25m10s Running a=exit1/10", "26m10s Running a=CrashLoopBackOff/10"}},
	{"a long run begins the delays anew", `containers: [{name: a, image: b, command: [sleep, "800"]}]`, "", []string{
		"0s Running a=running/0 Ready", "13m20s Running a=running/1 Ready", "26m40s Running a=running/2 Ready"}},
	{"an image that cannot be pulled", `containers: [{name: a, image: "b:404"}]`, "", []string{
		"0s Pending a=ErrImagePull/0", "1s Pending a=ImagePullBackOff/0", "10s Pending a=ErrImagePull/0", "11s Pending a=ImagePullBackOff/0",
		"30s Pending a=ErrImagePull/0", "31s Pending a=ImagePullBackOff/0", "1m10s Pending a=ErrImagePull/0", "1m11s Pending a=ImagePullBackOff/0",
		"2m30s Pending a=ErrImagePull/0", "2m31s Pending a=ImagePullBackOff/0", "5m10s Pending a=ErrImagePull/0", "5m11s Pending a=ImagePullBackOff/0",
		"10m10s Pending a=ErrImagePull/0", "10m11s Pending a=ImagePullBackOff/0", "15m10s Pending a=ErrImagePull/0", "15m11s Pending a=ImagePullBackOff/0",
		"20m10s Pending a=ErrImagePull/0", "20m11s Pending a=ImagePullBackOff/0", "25m10s Pending a=ErrImagePull/0", "25m11s Pending a=ImagePullBackOff/0"}},
	{"one container without its image", `containers: [{name: a, image: gone}, {name: b, image: b}], activeDeadlineSeconds: 5`, "", []string{
		"0s Pending a=ErrImagePull/0 b=running/0", "1s Pending a=ImagePullBackOff/0 b=running/0", "5s Failed a=ImagePullBackOff/0 b=exit143/0"}},
	{"init containers in order", `initContainers: [{name: i, image: b, command: [sleep, "5"]}, {name: j, image: b}, {name: k, image: b, command: [sleep, "2"]}], containers: [{name: a, image: b}]`, "", []string{
		"0s Pending i=running/0 j=PodInitializing/0 k=PodInitializing/0 a=PodInitializing/0", "5s Pending i=exit0/0 j=exit0/0 k=running/0 a=PodInitializing/0",
		"7s Running i=exit0/0 j=exit0/0 k=exit0/0 a=running/0 Ready"}},
	{"an init container that fails, Never", `restartPolicy: Never, initContainers: [{name: i, image: b, command: [exit, "2"]}], containers: [{name: a, image: b}]`, "",
		[]string{"0s Failed i=exit2/0 a=PodInitializing/0"}},
	{"a sidecar", `restartPolicy: Never, initContainers: [{name: s, image: b, restartPolicy: Always, startupProbe: {initialDelaySeconds: 3}}, {name: i, image: b, command: [sleep, "2"]}], containers: [{name: a, image: b, command: [sleep, "4"]}]`, "", []string{
		"0s Pending s=running/0 i=PodInitializing/0 a=PodInitializing/0", "3s Pending s=running/0 i=running/0 a=PodInitializing/0",
		"5s Running s=running/0 i=exit0/0 a=running/0 Ready", "9s Succeeded s=exit143/0 i=exit0/0 a=exit0/0"}},
	{"a readiness probe", `containers: [{name: a, image: b, readinessProbe: {initialDelaySeconds: 5, periodSeconds: 3, successThreshold: 2}}]`, "",
		[]string{"0s Running a=running/0", "8s Running a=running/0 Ready"}},
	{"a readiness probe that fails later", `containers: [{name: a, image: b, readinessProbe: {periodSeconds: 10, failureThreshold: 3}}]`,
		`, annotations: {readiness.probe.stagecraft-go.github.io/a: fails after 35s}`, []string{"0s Running a=running/0 Ready", "1m0s Running a=running/0"}},
	{"a liveness probe that fails", `terminationGracePeriodSeconds: 7, containers: [{name: a, image: b, command: [sleep, 1h], livenessProbe: {periodSeconds: 5, failureThreshold: 2}}]`,
		`, annotations: {liveness.probe.stagecraft-go.github.io/a: fails after 1000s}`, []string{"0s Running a=running/0 Ready", "16m52s Running a=running/1 Ready"}},
	{"a startup probe that is slow", `containers: [{name: a, image: b, startupProbe: {periodSeconds: 5, failureThreshold: 10}, readinessProbe: {initialDelaySeconds: 2}}]`,
		`, annotations: {startup.probe.stagecraft-go.github.io/a: succeeds after 12s}`, []string{"0s Running a=running/0", "15s Running a=running/0 Ready"}},
	{"a startup probe that fails", `restartPolicy: Never, containers: [{name: a, image: b, startupProbe: {periodSeconds: 5, failureThreshold: 2}}]`,
		`, annotations: {startup.probe.stagecraft-go.github.io/a: fails}`, []string{"0s Running a=running/0", "5s Failed a=exit143/0"}},
	{"a run of 10 minutes does not", `containers: [{name: a, image: b, command: [sh, -c, sleep 600; exit 1]}]`, "", []string{
		"0s Running a=running/0 Ready", "10m0s Running a=running/1 Ready", "20m0s Running a=exit1/1", "20m9s Running a=CrashLoopBackOff/1", "20m10s Running a=running/2 Ready"}},
	{"activeDeadlineSeconds", `activeDeadlineSeconds: 20, containers: [{name: a, image: b, command: [sleep, "30"]}]`, "",
		[]string{"0s Running a=running/0 Ready", "20s Running a=running/0", "30s Failed a=exit0/0"}},
	{"activeDeadlineSeconds and the grace period", `activeDeadlineSeconds: 20, terminationGracePeriodSeconds: 5, containers: [{name: a, image: b, command: [sleep, "60"]}]`, "",
		[]string{"0s Running a=running/0 Ready", "20s Running a=running/0", "25s Failed a=exit137/0"}},
	{"sidecars are stopped in reverse order", `restartPolicy: Never, terminationGracePeriodSeconds: 10, initContainers: [{name: s, image: b, restartPolicy: Always, command: [sleep, 1h]},
		{name: t, image: b, restartPolicy: Always, command: [sleep, 1h]}, {name: u, image: b, restartPolicy: Always}], containers: [{name: a, image: b, command: [sleep, "4"]}]`, "", []string{
		"0s Running s=running/0 t=running/0 u=running/0 a=running/0 Ready", "4s Running s=running/0 t=running/0 u=exit143/0 a=exit0/0",
		"14s Running s=running/0 t=exit137/0 u=exit143/0 a=exit0/0", "16s Succeeded s=exit137/0 t=exit137/0 u=exit143/0 a=exit0/0"}},
	{"a sidecar crashes and the others go on", `restartPolicy: Never, initContainers: [{name: s, image: b, restartPolicy: Always, command: [sh, -c, sleep 7; exit 1]}], containers: [{name: a, image: b, command: [sleep, "30"]}]`, "", []string{
		"0s Running s=running/0 a=running/0 Ready", "7s Running s=running/1 a=running/0 Ready", "14s Running s=exit1/1 a=running/0", "23s Running s=CrashLoopBackOff/1 a=running/0",
		"24s Running s=running/2 a=running/0 Ready", "30s Running s=running/2 a=exit0/0", "31s Succeeded s=exit1/2 a=exit0/0"}},
	{"a readiness gate", `readinessGates: [{conditionType: g}], containers: [{name: a, image: b}]`, "", []string{"0s Running a=running/0"}},
	{"deleted, sleeps through the grace period", `containers: [{name: a, image: b, command: [sleep, 1h]}]`,
		`, deletionTimestamp: "2026-01-01T00:00:30Z", deletionGracePeriodSeconds: 30`, []string{"0s Pending a=ContainerCreating/0 deleted"}},
}

func TestCases(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, play(t, parse(t, c.spec, c.metadata), 30*time.Minute))
		})
	}
}

func TestDeletionWaitsForTheGracePeriod(t *testing.T) {
	for command, want := range map[string][]string{
		`command: [sleep, 1h]`:   {"10s Running a=running/0 Ready", "30s Failed a=exit137/0 deleted"},
		`command: [sleep, "20"]`: {"10s Running a=running/0 Ready", "20s Succeeded a=exit0/0 deleted"},
		`args: [serve]`:          {"10s Failed a=exit143/0 deleted"},
	} {
		pod := parse(t, `containers: [{name: a, image: b, `+command+`}]`, "")
		play(t, pod, 0)
		require.NoError(t, unstructured.SetNestedField(pod.Object, "2026-01-01T00:00:30Z", "metadata", "deletionTimestamp"))
		require.NoError(t, unstructured.SetNestedField(pod.Object, int64(20), "metadata", "deletionGracePeriodSeconds"))
		got := playFrom(t, pod, 10*time.Second)
		require.Equal(t, want, got, command)
	}
}

// playFrom plays without the checks of play, from a later time.
func playFrom(t *testing.T, pod *unstructured.Unstructured, at time.Duration) (lines []string) {
	for range 10 {
		step, err := kubelet.Next(pod, start.Add(at), kubelet.Options{})
		require.NoError(t, err)
		pod.Object["status"] = step.Status
		lines = append(lines, fmt.Sprintf("%s %s", at, summary(step)))
		if step.Next.IsZero() {
			break
		}
		at = step.Next.Sub(start)
	}
	return lines
}

func TestReadinessGateOfOthers(t *testing.T) {
	pod := parse(t, `readinessGates: [{conditionType: g}], containers: [{name: a, image: b}]`, "")
	play(t, pod, 0)
	conditions, _, _ := unstructured.NestedSlice(pod.Object, "status", "conditions")
	conditions = append(conditions, map[string]any{"type": "g", "status": "True"})
	require.NoError(t, unstructured.SetNestedSlice(pod.Object, conditions, "status", "conditions"))
	require.Equal(t, []string{"0s Running a=running/0 Ready"}, play(t, pod, 0))
}

func TestEvents(t *testing.T) {
	pod := parse(t, `containers: [{name: a, image: b, command: ["false"]}]`, "")
	step, err := kubelet.Next(pod, start, kubelet.Options{})
	require.NoError(t, err)
	var got []string
	for _, e := range step.Events {
		got = append(got, e.Type+" "+e.Reason+" "+e.Message)
	}
	started := []string{`Normal Pulled Container image "b" already present on machine`, "Normal Created Container created", "Normal Started Container started"}
	require.Equal(t, slices.Concat(started, started, []string{"Warning BackOff Back-off restarting failed container a in pod p_default(u)"}), got)
}

// record plays a Pod until an end, and returns the Events as the controller records them.
func record(t *testing.T, pod *unstructured.Unstructured, end time.Duration) (lines []string) {
	now, last := start, start.Add(-time.Second)
	note := func(e kubelet.Event) {
		lines = append(lines, fmt.Sprintf("%s %s %s: %s", now.Sub(start), e.Type, e.Reason, e.Message))
	}
	for {
		notices, err := kubelet.Notices(pod, now, kubelet.Options{})
		require.NoError(t, err)
		for _, n := range notices {
			if !n.At.After(now) && n.At.After(last) {
				note(n.Event)
			}
		}
		last = now
		step, err := kubelet.Next(pod, now, kubelet.Options{})
		require.NoError(t, err)
		pod.Object["status"] = step.Status
		for _, e := range step.Events {
			note(e)
		}
		if now = now.Add(time.Second); now.Sub(start) > end {
			return lines
		}
	}
}

var recorded = []struct {
	name, spec, metadata string
	until                time.Duration
	want                 []string
}{
	{"an image", `containers: [{name: a, image: "b:404"}]`, "", 12 * time.Second, []string{
		`0s Normal Pulling: Pulling image "b:404"`, `0s Warning Failed: Failed to pull image "b:404": failed to pull and unpack image "b:404": not found`, "0s Warning Failed: Error: ErrImagePull",
		`1s Normal BackOff: Back-off pulling image "b:404"`, "1s Warning Failed: Error: ImagePullBackOff",
		`10s Normal Pulling: Pulling image "b:404"`, `10s Warning Failed: Failed to pull image "b:404": failed to pull and unpack image "b:404": not found`, "10s Warning Failed: Error: ErrImagePull",
		`11s Normal BackOff: Back-off pulling image "b:404"`, "11s Warning Failed: Error: ImagePullBackOff"}},
	{"liveness", `terminationGracePeriodSeconds: 4, containers: [{name: a, image: b, command: [sleep, 1h], livenessProbe: {periodSeconds: 5, failureThreshold: 2}}]`,
		`, annotations: {liveness.probe.stagecraft-go.github.io/a: fails after 7s}`, 15 * time.Second, slices.Concat(starts("0s"), []string{
			"10s Warning Unhealthy: Liveness probe failed: ", "15s Warning Unhealthy: Liveness probe failed: ", "15s Normal Killing: Container a failed liveness probe, will be restarted"})},
	{"startup, Never", `restartPolicy: Never, containers: [{name: a, image: b, startupProbe: {failureThreshold: 1, initialDelaySeconds: 3}}]`,
		`, annotations: {startup.probe.stagecraft-go.github.io/a: fails}`, time.Minute, slices.Concat(starts("0s"), []string{
			"3s Warning Unhealthy: Startup probe failed: ", "3s Normal Killing: Container a failed startup probe"})},
	{"startup, at once", `restartPolicy: Never, containers: [{name: a, image: b, startupProbe: {failureThreshold: 1}}]`,
		`, annotations: {startup.probe.stagecraft-go.github.io/a: fails}`, time.Minute, slices.Concat(starts("0s"), []string{
			"0s Warning Unhealthy: Startup probe failed: ", "0s Normal Killing: Container a failed startup probe"})},
	{"a sidecar", `initContainers: [{name: a, image: b, restartPolicy: Always, livenessProbe: {failureThreshold: 1, initialDelaySeconds: 3}}], containers: [{name: c, image: b}]`,
		`, annotations: {liveness.probe.stagecraft-go.github.io/a: fails}`, 3 * time.Second, slices.Concat(starts("0s"), starts("0s"), []string{
			"3s Warning Unhealthy: Liveness probe failed: ", "3s Normal Killing: Init container a failed liveness probe"}, starts("3s"))},
	{"readiness", `containers: [{name: a, image: b, readinessProbe: {periodSeconds: 4, failureThreshold: 2}}]`,
		`, annotations: {readiness.probe.stagecraft-go.github.io/a: fails}`, time.Minute, slices.Concat(starts("0s"), []string{
			"0s Warning Unhealthy: Readiness probe failed: ", "4s Warning Unhealthy: Readiness probe failed: "})},
	{"the deadline", `activeDeadlineSeconds: 5, containers: [{name: a, image: b, command: [sleep, 1m]}]`, "", 10 * time.Minute, slices.Concat(starts("0s"), []string{
		"5s Normal DeadlineExceeded: Pod was active on the node longer than the specified deadline", "5s Normal Killing: Stopping container a"})},
}

func starts(at string) []string {
	return []string{at + ` Normal Pulled: Container image "b" already present on machine`, at + " Normal Created: Container created", at + " Normal Started: Container started"}
}

func TestRecordedEvents(t *testing.T) {
	for _, c := range recorded {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, record(t, parse(t, c.spec, c.metadata), c.until)) })
	}
}

func TestWrongAnswer(t *testing.T) {
	pod := parse(t, `containers: [{name: a, image: b, livenessProbe: {}}]`, `, annotations: {liveness.probe.stagecraft-go.github.io/a: fails soon}`)
	_, err := kubelet.Next(pod, start, kubelet.Options{})
	require.ErrorContains(t, err, "metadata.annotations[liveness.probe.stagecraft-go.github.io/a]")
}

func TestWrongCommand(t *testing.T) {
	pod := parse(t, `containers: [{name: a, image: b}]`, `, annotations: {command.stagecraft-go.github.io/a: serve}`)
	_, err := kubelet.Next(pod, start, kubelet.Options{})
	require.ErrorContains(t, err, "metadata.annotations[command.stagecraft-go.github.io/a]")
}

// TestRandomPods plays Pods of random parts; play checks that each step is idempotent, that time
// goes on, that restarts never fall and that no time is in the future.
func TestRandomPods(t *testing.T) {
	for seed := range uint64(effort.Of(300)) {
		r := rand.New(rand.NewPCG(seed, 0))
		pick := func(options ...string) string { return options[r.IntN(len(options))] }
		one := func(name string, sidecar bool) string {
			text := fmt.Sprintf("{name: %s, image: %q, command: [sh, -c, %q]", name, pick("a", "a", "a", "a:404"), pick("serve", "sleep 7", "sleep 700", "exit 1", "true", "sleep 20; false", "sleep 90 && exit 4"))
			for _, kind := range []string{"startup", "readiness", "liveness"} {
				text += pick("", fmt.Sprintf(", %sProbe: {initialDelaySeconds: %d, periodSeconds: %d, failureThreshold: %d}", kind, r.IntN(20), 1+r.IntN(10), 1+r.IntN(3)))
			}
			if sidecar {
				text += pick("", ", restartPolicy: Always")
			}
			return text + "}"
		}
		spec := "restartPolicy: " + pick("Always", "OnFailure", "Never") + pick("", ", activeDeadlineSeconds: 45", ", terminationGracePeriodSeconds: 5") +
			", initContainers: [" + pick("", one("i", true), one("i", true)+", "+one("j", true)) + "], containers: [" + pick(one("a", false), one("a", false)+", "+one("b", false)) + "]"
		annotations := ""
		for _, name := range []string{"i", "j", "a", "b"} {
			for _, kind := range []string{"startup", "readiness", "liveness"} {
				annotations += fmt.Sprintf("%s.probe.stagecraft-go.github.io/%s: %s, ", kind, name, pick("succeeds", "fails", "fails after 30s", "succeeds after 25s"))
			}
		}
		t.Logf("seed %d: %s %s", seed, spec, annotations)
		play(t, parse(t, spec, ", annotations: {"+annotations+"}"), 20*time.Minute)
	}
}

// TestProgram makes a container run a program of a function: it fails once and then runs for a
// second.
func TestProgram(t *testing.T) {
	pod := parse(t, "restartPolicy: OnFailure, containers: [{name: a, image: i, command: [migrate]}]", "")
	o := kubelet.Options{Program: func(of *unstructured.Unstructured, container string, run int) (kubelet.Program, bool) {
		require.Equal(t, []string{"p", "a"}, []string{of.GetName(), container})
		if run == 0 {
			return kubelet.Program{ExitCode: 3}, true
		}
		return kubelet.Program{Runs: 500 * time.Millisecond}, true
	}}
	require.Empty(t, kubelet.RunForEver(pod, o))
	require.Equal(t, []string{"a"}, kubelet.RunForEver(pod, kubelet.Options{RunUnknown: true}))
	now := start
	for {
		step, err := kubelet.Next(pod, now, o)
		require.NoError(t, err)
		pod.Object["status"] = step.Status
		if now = step.Next; now.IsZero() {
			break
		}
	}
	statuses, _, err := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
	require.NoError(t, err)
	status := statuses[0].(map[string]any)
	require.EqualValues(t, 1, status["restartCount"])
	last, _, _ := unstructured.NestedInt64(status, "lastState", "terminated", "exitCode")
	require.EqualValues(t, 3, last)
	require.Equal(t, "Succeeded", pod.Object["status"].(map[string]any)["phase"])
}

// TestObservedGeneration: the status and each condition of the kubelet say which generation of the Pod they are of, as since Kubernetes 1.34;
// conditions of others keep what they say.
func TestObservedGeneration(t *testing.T) {
	pod := parse(t, "containers: [{name: c, image: i}]", ", generation: 1")
	pod.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "example.com/others", "status": "True"}}}
	for _, generation := range []int64{1, 2} {
		pod.SetGeneration(generation)
		step, err := kubelet.Next(pod, start, kubelet.Options{})
		require.NoError(t, err)
		require.Equal(t, generation, step.Status["observedGeneration"])
		got := map[string]any{}
		conditions, _, _ := unstructured.NestedSlice(step.Status, "conditions")
		for _, c := range conditions {
			got[c.(map[string]any)["type"].(string)] = c.(map[string]any)["observedGeneration"]
		}
		require.Equal(t, map[string]any{"example.com/others": nil, "PodReadyToStartContainers": generation, "Initialized": generation,
			"ContainersReady": generation, "Ready": generation, "PodScheduled": generation}, got)
		pod.Object["status"] = step.Status
	}
}
