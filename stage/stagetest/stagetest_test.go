package stagetest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/stagetest"
)

const files = `
-- stages.yaml --
{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: go}, spec: {resourceRef: {kind: Pod}, selector: {},
  delay: {durationMilliseconds: 1000}, steps: [{delete: true}]}}
-- pod.yaml --
{apiVersion: v1, kind: Pod, metadata: {name: web}}
-- train.yaml --
{apiVersion: demo.example.com/v1, kind: Train, metadata: {name: t}}
-- broken.yaml --
a: [
`

func play(commands, files string) (string, error) {
	trace, err := stagetest.Play("story.txtar", []byte(commands+files), stagetest.Options{})
	return string(trace), err
}

func TestMistakesAreErrorsWithTheirLine(t *testing.T) {
	for _, tc := range []struct{ name, commands, want string }{
		{"an unknown command", "# A story.\nsing", `story.txtar:2: unknown command "sing"`},
		{"a missing argument", "advance", "story.txtar:1: usage: advance DURATION"},
		{"an argument too many", "lenient please", "usage: lenient"},
		{"a setting that comes late", "apply pod.yaml\nseed 1", "story.txtar:2: seed must stand before"},
		{"a seed that is no number", "seed one", `seed: strconv.ParseUint: parsing "one"`},
		{"a start that is no time", "start noon", `start: parsing time "noon"`},
		{"a file that is not there", "apply no.yaml", `apply: the story has no file "no.yaml"`},
		{"a file without objects", "apply stages.yaml", "apply: stages.yaml holds no object"},
		{"a file that is no YAML", "apply broken.yaml", "story.txtar:1: apply: broken.yaml:"},
		{"a duration that is none", "advance soon", `time: invalid duration "soon"`},
		{"time that goes back", "advance -1s", "time does not go back"},
		{"a patch that is no YAML", "apply pod.yaml\npatch Pod web {a: [}", "story.txtar:2: patch: "},
		{"a kind that nothing is of", "show Pood web", `unknown kind "Pood"`},
		{"a name with too many parts", "delete Pod a/b/c", `"a/b/c" is no name`},
		{"an expression that is no jq", "apply pod.yaml\nshow Pod web .[", "story.txtar:2: show: "},
		{"an expression that fails", "apply pod.yaml\nshow Pod web .kind.x", "story.txtar:2: show: expected an object"},
		{"an object of an unknown kind", "apply train.yaml", "or declare it: kind GROUP/VERSION KIND"},
		{"a kind that is half declared", "kind demo.example.com/v1 Train everywhere", `"everywhere" is not cluster`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := play(tc.commands, files)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestStagesMustBeThere(t *testing.T) {
	_, err := play("settle\n-- pod.yaml --\n", "")
	require.ErrorContains(t, err, "story.txtar:1: no Stages")
	train := strings.Replace(files, "{kind: Pod}", "{apiGroup: demo.example.com/v1, kind: Train}", 1)
	_, err = play("settle", train)
	require.ErrorContains(t, err, "declare it: kind GROUP/VERSION KIND")
	_, err = play("kind demo.example.com/v1 Train cluster\napply train.yaml\nsettle", train)
	require.NoError(t, err)
}

func TestWhatTheClusterRefusesIsPartOfTheStory(t *testing.T) {
	got, err := play("patch Pod web {metadata: {labels: {a: b}}}\nstatus Pod web {phase: Running}\ndelete Pod web\nshow Pod web\ncandidates Pod web", files)
	require.NoError(t, err)
	require.Equal(t, `> patch Pod web {metadata: {labels: {a: b}}}
+0s        error: pods "web" not found
> status Pod web {phase: Running}
+0s        error: pods "web" not found
> delete Pod web
+0s        error: pods "web" not found
> show Pod web
not found
> candidates Pod web
not found
`, got)
}

func TestApplyReplacesAndKeepsTheStatus(t *testing.T) {
	got, err := play("apply a.yaml\napply b.yaml\nshow Pod web .metadata.labels, .status\napply c.yaml\nshow Pod web .status", files+`
-- a.yaml --
{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {a: "1"}}, status: {phase: Running}}
-- b.yaml --
{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {b: "1"}}}
-- c.yaml --
{apiVersion: v1, kind: Pod, metadata: {name: web}, status: {phase: Failed}}
`)
	require.NoError(t, err)
	require.Contains(t, got, "b: \"1\"\nphase: Running\n")
	require.NotContains(t, got, "a: \"1\"")
	require.Contains(t, got, "phase: Failed\n")
}

func TestRunWritesWhatItGot(t *testing.T) {
	name := filepath.Join(t.TempDir(), "go.txtar")
	require.NoError(t, os.WriteFile(name, []byte("apply pod.yaml\nsettle"+files), 0o600))
	stagetest.Run(t, name, stagetest.Options{Update: true})
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	_, want, _ := strings.Cut(string(data), "-- want --\n")
	require.Equal(t, `> apply pod.yaml
+0s        Pod default/web scheduled go in 1s
> settle
+1s        Pod default/web played go
           delete
+1s        Pod default/web gone
+1s        settled
`, want)
	stagetest.Run(t, name, stagetest.Options{})
}

func TestStagesOfTheOptionsArePlayedToo(t *testing.T) {
	source := stage.Parse("more.yaml", []byte(`{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: more},
  spec: {resourceRef: {kind: Pod}, selector: {}}}`))
	got, err := stagetest.Play("story.txtar", []byte("apply pod.yaml\ncandidates Pod web"+files), stagetest.Options{Stages: []stage.Source{source}})
	require.NoError(t, err)
	require.Contains(t, string(got), "stage  chance  weight  delay\nmore   50%     0       none\ngo     50%     0       1s\n")
}

func TestAStoryIsPlayedTheSameEveryTime(t *testing.T) {
	commands := "seed 3\napply pod.yaml\nshow Pod web .metadata.uid\nsettle"
	first, err := play(commands, files)
	require.NoError(t, err)
	for range 5 {
		again, err := play(commands, files)
		require.NoError(t, err)
		require.Equal(t, first, again)
	}
}

// FuzzPlay checks that no command panics, and that a second run has the same result.
func FuzzPlay(f *testing.F) {
	f.Add("apply pod.yaml\nadvance 1s\ncandidates Pod web\nsettle")
	f.Add("seed 0x7\nstart 2020-02-02T02:02:02Z\napply pod.yaml\nstatus Pod web {a: [1]}\npatch Pod web {metadata: {labels: 1}}")
	f.Add("kind a/v1 B\nlenient\nstages stages.yaml want\ndelete Pod a/b")
	f.Fuzz(func(t *testing.T, commands string) {
		if strings.Contains(commands, "show") {
			t.Skip("jq need not end")
		}
		first, err := play(commands, files)
		again, err2 := play(commands, files)
		require.Equal(t, first, again)
		require.Equal(t, err == nil, err2 == nil)
	})
}
