package answer_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/answer"
)

// An example is one of page/examples.json. Its texts are files.
type example struct {
	View                     answer.View
	Title                    string
	Stages, Objects, Rollout []string
}

func examples(t testing.TB) (all []example) {
	text, err := os.ReadFile("../../page/examples.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &all))
	require.NotEmpty(t, all)
	return all
}

// request returns the request that the page makes for an example.
func (e example) request(t testing.TB) answer.Request {
	read := func(files []string) string {
		var texts []string
		for _, file := range files {
			text, err := os.ReadFile(filepath.Join("../..", file))
			require.NoError(t, err)
			texts = append(texts, string(text))
		}
		return strings.Join(texts, "---\n")
	}
	return answer.Request{View: e.View, Stages: read(e.Stages), Objects: read(e.Objects), Rollout: read(e.Rollout), Seed: 1,
		Now: time.Date(2026, 11, 27, 20, 0, 0, 0, time.UTC)}
}

// named returns the request for the example with a title.
func named(t testing.TB, title string) answer.Request {
	all := examples(t)
	i := slices.IndexFunc(all, func(e example) bool { return e.Title == title })
	require.GreaterOrEqual(t, i, 0, title)
	return all[i].request(t)
}

// ask answers a request, for ViewLives with all parts.
func ask(t *testing.T, r answer.Request) (a answer.Answer) {
	parts := []answer.Part{""}
	if r.View == answer.ViewLives {
		parts = []answer.Part{answer.PartLives, answer.PartNext, answer.PartLint}
	}
	for _, r.Part = range parts {
		request, err := json.Marshal(r)
		require.NoError(t, err)
		faults := a.Faults
		if r.Part == answer.PartNext { // they are those of the lives
			faults = nil
		}
		a.Faults = nil
		require.NoError(t, json.Unmarshal(answer.To(t.Context(), request), &a))
		a.Faults = append(faults, a.Faults...)
	}
	return a
}

func TestExamplesHaveAnswers(t *testing.T) {
	for _, e := range examples(t) {
		t.Run(e.Title, func(t *testing.T) {
			a := ask(t, e.request(t))
			require.Empty(t, a.Error)
			if e.Title == "Stages with mistakes" {
				require.Len(t, a.Faults, 5)
				return
			}
			for _, f := range a.Faults {
				require.True(t, f.Informational, f)
			}
			switch e.View {
			case answer.ViewLives:
				require.NotEmpty(t, a.Explanations)
				require.True(t, strings.HasPrefix(a.Diagram, "<svg "))
				require.NotEmpty(t, a.Lives.Transitions)
				require.NotEmpty(t, a.Run.Moments)
				require.NotEmpty(t, a.Times)
			case answer.ViewStatus:
				require.NotEmpty(t, a.Statuses)
			case answer.ViewRollout:
				require.Len(t, a.Rollouts, 1)
				require.Contains(t, a.Rollouts[0].Page, "<!DOCTYPE html>")
			}
			require.Equal(t, a, ask(t, e.request(t)), "the same request has the same answer")
		})
	}
}

// part returns a part of a text as JavaScript does.
func part(text string, s answer.Span) string {
	return string(utf16.Decode(utf16.Encode([]rune(text))[s.From:s.To]))
}

func TestFaultsHavePlaces(t *testing.T) {
	r := named(t, "Stages with mistakes")
	r.Stages = "# 🐣 é\n" + strings.Replace(r.Stages, "name: done", "name: done}  # 🐣\n# {", 1)
	r.Objects = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, name: b}\n---\nkind: Pod\n"
	want := map[string]string{
		"spec.delay.jitterDurationMillisecond":       "jitterDurationMillisecond: 5000",
		"spec.selector.matchExpressions[0].key":      "",
		"spec.selector.matchExpressions[1].operator": "Equals, values: [Running]}",
		"spec.next.statusTemplate":                   "",
		"metadata.name":                              "name: b}",
		"apiVersion: missing":                        "kind: Pod",
	}
	found := map[string]string{}
	for _, f := range ask(t, r).Faults {
		text := map[string]string{answer.StagesFile: r.Stages, answer.ObjectsFile: r.Objects}[f.File]
		key := f.Path
		if key == "" {
			key = f.Message
		}
		found[key] = part(text, f.Span)
	}
	for key, text := range want {
		require.Contains(t, found, key)
		if text != "" {
			require.Equal(t, text, found[key], key)
		}
	}
}

func TestARunIsALife(t *testing.T) {
	r := named(t, "A Pod, as a kubelet runs it")
	run := ask(t, r).Run
	require.Equal(t, []string{"Pod default/web"}, run.Objects)
	require.Equal(t, "nothing more happens", run.End)
	require.True(t, slices.IsSortedFunc(run.Moments, func(a, b answer.Moment) int { return int(1000 * (a.Seconds - b.Seconds)) }))
	first, last := run.Moments[0], run.Moments[len(run.Moments)-1]
	require.Equal(t, "InProgress", first.Changes[0].Status)
	require.Contains(t, first.Events[0], "for pod-create")
	require.Equal(t, "Current", last.Changes[0].Status)
	require.Contains(t, last.Changes[0].YAML, "phase: Succeeded")

	r.Seed = 2
	require.NotEqual(t, run, ask(t, r).Run)
}

func TestAnObjectThatIsDeleted(t *testing.T) {
	r := named(t, "A Pod, as a kubelet runs it")
	r.Objects = strings.Replace(r.Objects, "metadata:\n", "metadata:\n  uid: u\n  deletionGracePeriodSeconds: 30\n"+
		"  deletionTimestamp: 2026-11-27T20:00:00Z\n  resourceVersion: \"7\"\n  generation: 4\n", 1)
	a := ask(t, r)
	require.Empty(t, a.Error)
	last := a.Run.Moments[len(a.Run.Moments)-1].Changes[0]
	require.Equal(t, answer.Change{Object: 0, Status: "NotFound"}, last)
	require.Equal(t, "gone", a.Times[len(a.Times)-1].Target)
}

func TestWithoutObjects(t *testing.T) {
	r := named(t, "A Pod, as a kubelet runs it")
	r.Objects = ""
	a := ask(t, r)
	require.Empty(t, a.Error)
	require.Nil(t, a.Run)
	require.Contains(t, a.Diagram, "pod-ready")

	r.Objects = "{apiVersion: v1, kind: Node, metadata: {name: node-1}}"
	a = ask(t, r)
	require.Empty(t, a.Error)
	require.Contains(t, a.Explanations[0].Summary, "no stage is for v1 Node")
}

func TestTheFieldThatDecided(t *testing.T) {
	r := named(t, "A Deployment whose Pod cannot start")
	lines := strings.Split(r.Objects, "\n")
	for _, s := range ask(t, r).Statuses {
		switch s.Kind {
		case "Pod":
			require.Equal(t, `status.containerStatuses[name="app"]`, s.Field)
			require.Equal(t, "Kind", s.Basis)
			require.Equal(t, "InProgress", s.Upstream)
			require.Equal(t, "    - name: app", lines[s.Line-1])
			require.Contains(t, part(r.Objects, s.Span), "name: app")
		case "Job":
			require.Equal(t, "spec.suspend", s.Field)
			require.True(t, s.Suspended)
			require.Equal(t, "suspend: true}", part(r.Objects, s.Span))
		}
	}
}

func TestFaultsOfARollout(t *testing.T) {
	r := named(t, "From dev to prod")
	r.Rollout = strings.Replace(r.Rollout, "obj.results.exists(", "obj.results.exist(", 1)
	f := ask(t, r).Faults
	require.NotEmpty(t, f)
	require.Equal(t, "spec.stages[0].condition", f[0].Path)
	require.Contains(t, f[0].Message, "exist")
	require.Equal(t, "(r, r.name ==", part(r.Rollout, f[0].Span)[:13])

	r.Rollout = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"
	require.NotEmpty(t, ask(t, r).Faults)
}
