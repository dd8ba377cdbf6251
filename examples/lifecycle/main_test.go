package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "draw the pictures again, and rewrite the wanted output")

// command runs lifecycle with arguments that have no spaces in them.
func command(t *testing.T, line string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), strings.Fields(line), &out, &errs)
	return code, out.String(), errs.String()
}

// TestPictures draws the pictures that are in the README. To draw them again: go test
// ./examples/lifecycle -run TestPictures -update.
func TestPictures(t *testing.T) {
	for name, args := range map[string]string{
		"pod-fast":           "-preset pod-fast -object objects/pod.yaml -delete",
		"pod-general":        "-preset pod-general -object objects/pod.yaml -delete",
		"pod-general-stages": "-preset pod-general",
		"pod-chaos":          "-preset pod-general -preset pod-chaos -object objects/chaos-pod.yaml",
		"node":               "-preset node-fast -preset node-heartbeat -object objects/node.yaml",
		"volumes":            "-preset volumes -object objects/claim.yaml -delete",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), name+".svg")
			code, stdout, stderr := command(t, args+" -o "+file)
			require.Equal(t, 0, code, stderr)
			require.Empty(t, stdout)
			compare(t, filepath.Join("pictures", name+".svg"), file)
		})
	}
}

// compare requires that a file is as wanted, or makes it so.
func compare(t *testing.T, wanted, file string) {
	t.Helper()
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(wanted, got, 0o644))
	}
	want, err := os.ReadFile(wanted)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestEachFormat(t *testing.T) {
	for end, begin := range map[string]string{".svg": "<svg ", ".mmd": "flowchart TD", ".dot": "digraph "} {
		file := filepath.Join(t.TempDir(), "graph"+end)
		code, _, stderr := command(t, "-preset pod-fast -object objects/pod.yaml -o "+file)
		require.Equal(t, 0, code, stderr)
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(data), begin), end)
		require.Contains(t, string(data), "pod-complete")
	}
}

func TestTimeTo(t *testing.T) {
	code, stdout, stderr := command(t, "-preset pod-general -preset pod-chaos -object objects/chaos-pod.yaml -time-to Ready")
	require.Equal(t, 0, code, stderr)
	require.Equal(t, `Pod default/web to Ready
  reached  65.6%
  min      4s
  mean     12s
  p50      12s (11.998s to 12.002s)
  p90      15.014s (15.012s to 15.016s)
  p99      17.2s (17.198s to 17.202s)
  max      20s
  by       convolution on a grid of 1ms, right to within 2ms
`, stdout)
	_, stdout, _ = command(t, "-preset pod-general -object objects/pod.yaml -time-to Ready -samples 1000")
	require.Contains(t, stdout, "1000 runs drawn")
	_, stdout, _ = command(t, "-preset pod-fast -object objects/pod.yaml -time-to Current")
	require.Contains(t, stdout, "reached  100%\n  min      0s\n")
	_, stdout, _ = command(t, "-object objects/pod.yaml -time-to Current -stages "+written(t, `{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage,
  metadata: {name: a},
  spec: {resourceRef: {kind: Pod}, selector: {matchExpressions: [{key: .status.phase, operator: In,
    values: [Pending]}]}, next: {statusTemplate: "phase: Failed"}}}`))
	require.Contains(t, stdout, "reached  0%", "upstream's rules alone call a Pod that failed Current")
	_, stdout, _ = command(t, "-preset pod-general -object objects/pod.yaml -time-to gone")
	require.Contains(t, stdout, "reached  0%")
}

func TestTimeToInAnyCase(t *testing.T) {
	for text, reached := range map[string]string{"ready": "100%", "READY": "100%", "current": "100%", "Gone": "0%", "Deleting": "0%", ".status.ready": "0%"} {
		code, stdout, stderr := command(t, "-preset pod-fast -object objects/pod.yaml -time-to "+text)
		require.Equal(t, 0, code, stderr)
		require.Contains(t, stdout, "reached  "+reached+"\n", text)
	}
}

func TestExplain(t *testing.T) {
	code, stdout, stderr := command(t, "-preset pod-general -object objects/pod.yaml -explain")
	require.Equal(t, 0, code, stderr)
	require.True(t, strings.HasPrefix(stdout, `Pod default/web: next is "pod-create", in 1s to 5s`), stdout)
}

// TestExplainIsTheSameTomorrow: times in it are the latest that the objects tell, or what -now
// says.
func TestExplainIsTheSameTomorrow(t *testing.T) {
	file := written(t, `{apiVersion: v1, kind: Pod, metadata: {name: web, uid: u, creationTimestamp: "2026-05-01T09:00:00Z",
  deletionTimestamp: "2026-05-01T10:00:30Z", deletionGracePeriodSeconds: 30}, spec: {nodeName: n, containers: [{name: c, image: i}]}, status: {phase: Pending,
  conditions: [{type: Ready, status: "False", lastTransitionTime: "2026-05-01T09:30:00Z"}]}}`)
	stages := written(t, `{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: end}, spec: {resourceRef: {kind: Pod},
  selector: {matchExpressions: [{key: .metadata.deletionTimestamp, operator: Exists}]}, delay: {durationFrom: {expressionFrom: .metadata.deletionTimestamp}},
  next: {statusTemplate: "message: {{ Now | Quote }}"}}}`)
	for args, want := range map[string][]string{
		"":                           {`next is "end", in 30s`, `"2026-05-01T10:00:30Z"`},
		" -now 2026-05-01T10:00:20Z": {`next is "end", in 10s`, `"2026-05-01T10:00:30Z"`},
	} {
		code, stdout, stderr := command(t, "-explain -stages "+stages+" -object "+file+args)
		require.Equal(t, 0, code, stderr)
		for _, w := range want {
			require.Contains(t, stdout, w)
		}
	}
	_, stdout, _ := command(t, "-preset pod-fast -object objects/pod.yaml -explain")
	require.Contains(t, stdout, "2006-01-02T15:04:05Z", "the object tells no time")
}

// written returns a file with a text.
func written(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

func TestExplainWithoutStagesForTheObject(t *testing.T) {
	code, stdout, stderr := command(t, "-preset pod-fast -object objects/node.yaml -explain")
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stdout, "nothing happens: no stage is for v1 Node; the set has stages for v1 Pod")
}

func TestText(t *testing.T) {
	code, stdout, stderr := command(t, "-preset node-fast -preset node-heartbeat -object objects/node.yaml")
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stdout, "node-heartbeat 20s–25s → 1\n")
	require.Contains(t, stdout, "loop that never ends: 1 Running · Ready\n")
}

// faulty has a Stage whose jq does not mean what its author intended, a Stage that does not
// compile, and an object of a custom kind.
const faulty = `{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: a}, spec: {resourceRef: {apiGroup: demo.example.com/v1, kind: Train},
  selector: {matchExpressions: [{key: .metadata.labels.job-type, operator: Exists}]}, next: {delete: true}}}
---
{apiVersion: demo.example.com/v1, kind: Train, metadata: {name: t}}
---
{apiVersion: demo.example.com/v1, kind: Station, metadata: {name: s}}
`

func TestLint(t *testing.T) {
	file := written(t, faulty)
	code, stdout, stderr := command(t, "-lint -stages "+file)
	require.Equal(t, 1, code, stderr)
	require.Contains(t, stdout, "[subtraction]")
	require.Empty(t, stderr)
	code, _, _ = command(t, "-preset pod-general -lint")
	require.Equal(t, 0, code)
	code, _, stderr = command(t, "-lint -stages "+written(t, "{"))
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "not YAML", "what does not compile is not clean")
}

func TestObjectsBesideTheStages(t *testing.T) {
	file := written(t, strings.Replace(faulty, "job-type", "job", 1))
	code, stdout, stderr := command(t, "-stages "+file)
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stdout, "never played: a of Train does not match any state")
	require.NotContains(t, stdout, "Station", "it has no Stages")
}

func TestFaultsAreToldWithTheirPlaces(t *testing.T) {
	file := written(t, strings.ReplaceAll(faulty, ".metadata.labels.job-type", `"]]"`))
	code, _, stderr := command(t, "-stages "+file)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "file.yaml:2:")
}

func TestExtensions(t *testing.T) {
	file := written(t, `{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: a, annotations: {stagecraft-go.github.io/delay: "offset: 5s"}},
  spec: {resourceRef: {kind: Pod}, selector: {}, delay: {durationMilliseconds: 2000}, next: {delete: true}}}`)
	code, _, stderr := command(t, "-object objects/pod.yaml -explain -stages "+file)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "an extension, which kwok does not have")
	code, stdout, _ := command(t, "-object objects/pod.yaml -explain -extensions -stages "+file)
	require.Zero(t, code)
	require.Contains(t, stdout, `next is "a", in 7s`)
}

func TestMisuse(t *testing.T) {
	for args, want := range map[string]string{
		"":                           "name the Stages",
		"-preset pod-medium":         "want one of",
		"-preset pod-fast -o a.jpeg": ".svg, .mmd or .dot",
		"-preset pod-fast":           "no object of a kind that has Stages, which are for v1 Pod:",
		"-preset pod-fast -explain":  "no object of a kind",
		"-preset pod-fast -now x":    "-now",
		"-preset pod-fast x":         "unexpected arguments",
		"-nonsense":                  "not defined",
		"-stages none.yaml":          "none.yaml",
		"-preset pod-fast -object objects/pod.yaml -time-to =":   "want a condition",
		"-preset pod-fast -object main.go":                       "main.go",
		"-preset pod-fast -object objects/pod.yaml -states -1":   "not negative",
		"-preset pod-fast -object objects/none.yaml -explain":    "none.yaml",
		"-preset pod-fast -object objects/pod.yaml -o /no/a.svg": "/no/a.svg",
	} {
		code, _, stderr := command(t, args)
		require.NotEqual(t, 0, code, args)
		require.Contains(t, stderr, want, args)
	}
	code, _, stderr := command(t, "-h")
	require.Equal(t, 0, code)
	require.Contains(t, stderr, "-time-to")
}
