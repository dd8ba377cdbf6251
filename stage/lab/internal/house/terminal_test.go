package house_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/diagram"
	"github.com/stagecraft-go/stagecraft/stage/explore"
	"github.com/stagecraft-go/stagecraft/stage/lab/fit"
	"github.com/stagecraft-go/stagecraft/stage/lab/measure"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
	"github.com/stagecraft-go/stagecraft/stage/lint"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/rehearse"
)

// forged is the text of an object that tries to look like two lines of our own.
const forged = "x\nforged: all is well\r\u2028forged: \x1b[2J\x1b]0;title\a \u202egnp\u0085\u009b31m"

// hostilePod says it in each of its fields.
func hostilePod() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": "web", "namespace": "default", "annotations": map[string]any{"text": forged}},
		"status": map[string]any{"phase": forged, "message": forged, "conditions": []any{
			map[string]any{"type": "Ready", "status": "False", "reason": forged, "message": forged},
			map[string]any{"type": forged, "status": "True", "reason": forged, "message": forged},
		}},
	}}
}

// hostileStages read it in each of the ways in which they can, and fail.
const hostileStages = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: refused}
spec:
  resourceRef: {kind: Pod}
  selector:
    matchExpressions:
    - jq: {key: 'error(.status.phase)', operator: Exists}
    - jq: {key: .status.phase, operator: In, values: [Running]}
    - cel: {expression: 'int(self.status.phase) == 1'}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: played}
spec:
  resourceRef: {kind: Pod}
  selector: {}
  weightFrom: {jq: {expression: 'error(.status.phase)'}}
  delay: {durationMilliseconds: 1, durationFrom: {cel: {expression: 'duration(self.status.phase)'}}}
  next: {event: {type: Normal, reason: a, message: b}, statusTemplate: 'message: {{ Quote .status.phase }}{{ Quote .status.message }}'}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: fails}
spec:
  resourceRef: {kind: Pod}
  selector: {}
  next: {statusTemplate: '{{ fail .status.phase }}'}
`

// TestNoTextForgesALine prints texts of objects, logs and clusters in each way in which this module
// prints. Each printed line must be a line of this module, without control characters.
func TestNoTextForgesALine(t *testing.T) {
	for name, text := range map[string]func(*testing.T) string{
		"explain": explained, "explore": explored, "fit": fitted, "lint": linted, "mermaid and DOT": drawn,
		"kstatus": statusText, "measure": compared, "staged faults": stagedFaults, "rehearse": rehearsed,
	} {
		t.Run(name, func(t *testing.T) {
			got := text(t)
			require.Contains(t, got, "forged", "the test shows nothing")
			for line := range strings.Lines(got) {
				line = strings.TrimSuffix(line, "\n")
				require.False(t, strings.HasPrefix(strings.TrimSpace(line), "forged"), "%q", line)
				require.Equal(t, -1, strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }), "%q", line)
				require.Less(t, len(line), 5<<10)
			}
		})
	}
}

func explained(t *testing.T) string {
	set, err := stage.Compile(stage.Options{}, stage.Parse("s.yaml", []byte(hostileStages)))
	require.NoError(t, err)
	return set.Explain(hostilePod(), now).String()
}

func exploredGraph(t *testing.T) *explore.Graph {
	set, err := stage.Compile(stage.Options{}, stage.Parse("s.yaml", []byte(hostileStages)))
	require.NoError(t, err)
	act := explore.Action{Name: forged, Do: func(context.Context, *memory.Cluster, *unstructured.Unstructured) error { return errors.New(forged) }}
	pod := hostilePod()
	for _, field := range []string{"phase", "message"} { // possible content of a manifest
		pod.Object["status"].(map[string]any)[field] = strings.TrimRight(forged, "\u0085\u009b31m")
	}
	delete(pod.Object["status"].(map[string]any), "conditions")
	delete(pod.Object["metadata"].(map[string]any), "annotations")
	graph, err := explore.Explore(t.Context(), set, explore.Options{Actions: []explore.Action{act}}, pod)
	require.NoError(t, err)
	return graph
}

func explored(t *testing.T) string { return exploredGraph(t).String() }

func drawn(t *testing.T) string {
	d := diagram.FromGraph(exploredGraph(t), diagram.Options{})
	return d.Mermaid() + d.DOT()
}

func hostileLog() (log record.Log) {
	for i := range 20 {
		at, name := now.Add(time.Duration(i)*time.Second), fmt.Sprint(forged, i)
		log = append(log, record.Record{Time: at, Kind: forged, Name: name, To: forged},
			record.Record{Time: at.Add(time.Second), Kind: forged, Name: name, From: forged, To: "b" + forged})
	}
	return log
}

func hostileRecords(yield func(record.Record, error) bool) {
	for _, r := range hostileLog() {
		if !yield(r, nil) {
			return
		}
	}
}

func fitted(t *testing.T) string {
	result, err := fit.Fit(hostileRecords, fit.Options{Least: 5, Complete: true})
	require.NoError(t, err)
	return result.String()
}

func compared(*testing.T) string {
	m := measure.TimeIn(forged, forged)
	return measure.Compare(hostileLog(), hostileLog(), m)[0].String()
}

func linted(*testing.T) string {
	source := stage.Parse("s.yaml", fmt.Appendf(nil, `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: %q}
spec:
  resourceRef: {kind: %q}
  selector: {matchExpressions: [{jq: {key: .status.phase, operator: In, values: [%q]}}]}
  steps: [{patch: {template: 'a: b', impersonation: {username: %q}}}]
`, forged, forged, forged, forged))
	var b strings.Builder
	for _, f := range lint.Check(source) {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

func statusText(*testing.T) string {
	result := kstatus.Compute(hostilePod())
	state := wait.State{Ref: wait.Ref{Name: forged}, Result: result, Err: errors.New(forged)}
	return fmt.Sprint(result, "\n", result.Message(), " ", result.Field(), "\n", kstatus.Extended().Explain(hostilePod(), now), "\n", state)
}

func stagedFaults(*testing.T) string {
	const policy = "{apiVersion: community.kubestellar.io/v1alpha1, kind: StagedBindingPolicy, metadata: {name: a}, spec: {%q: 1}}"
	_, err := staged.Compile(staged.Options{}, staged.Parse("p.yaml", fmt.Appendf(nil, policy, forged)))
	return fmt.Sprint(err)
}

func rehearsed(*testing.T) string {
	timeline := rehearse.Timeline{Policy: forged, Message: forged, Entries: []rehearse.Entry{{Stage: forged, Text: forged}}, Lints: []rehearse.Lint{{Stage: forged, Text: forged}}}
	return timeline.String() + timeline.Entries[0].String() + "\n" + timeline.Lints[0].String()
}

// now is the time of all evaluations here.
var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
