package stage_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

const faulty = `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: one
spec:
  resourceRef:
    apiGroup: v1
  selector:
    matchExpressions:
      - key: '.status.phase ||'
        operator: Exists
      - key: .status.phase
        operator: In
      - key: .x
        operator: equals
        values: [a]
      - key: .x
        operator: Exists
        values: [a]
      - cel:
          expression: >-
            self.status.phase ==
            slf.x
      - {}
  wait: 3
  weight: -1
  delay:
    durationMilliseconds: -5
    durationFrom:
      cel:
        expression: "[1, 2]"
  next:
    event: {type: Strange, reason: x}
    statusTemplate: |
      phase: Running
      at: {{ Nwo | Quote }}
---
kind: [
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: two}
spec:
  resourceRef: {kind: Pod}
  weight: "1"
  steps:
    - patch: {type: strange, template: '{{ if }}'}
    - apply: {type: json, template: 'a: 1', impersonation: {}}
    - finalizers: {add: [{}]}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: two}
spec:
  resourceRef: {kind: Pod}
  selector: {}
`

func TestFaultsAreReportedTogether(t *testing.T) {
	_, err := stage.Compile(stage.Options{}, stage.Parse("pod.yaml", []byte(faulty)))
	var faults stage.Errors
	require.ErrorAs(t, err, &faults)
	require.Equal(t, strings.TrimSpace(wantFaults), faults.Error())
}

const wantFaults = `
pod.yaml:6:3: stage "one": spec.resourceRef.kind: missing
pod.yaml:10:30: stage "one": spec.selector.matchExpressions[0].key: unexpected token "|" at line 1, column 16 of the program
pod.yaml:12:9: stage "one": spec.selector.matchExpressions[1].values: In needs at least one value
pod.yaml:15:19: stage "one": spec.selector.matchExpressions[2].operator: unknown operator "equals"; want In, NotIn, Exists or DoesNotExist
pod.yaml:19:9: stage "one": spec.selector.matchExpressions[3].values: Exists takes no values
pod.yaml:23:13: stage "one": spec.selector.matchExpressions[4].cel.expression: undeclared reference to 'slf'
pod.yaml:24:9: stage "one": spec.selector.matchExpressions[5]: want key and operator, jq, or cel
pod.yaml:25:3: stage "one": spec.wait: unknown field
pod.yaml:26:11: stage "one": spec.weight: must not be negative
pod.yaml:28:27: stage "one": spec.delay.durationMilliseconds: must not be negative
pod.yaml:31:22: stage "one": spec.delay.durationFrom.cel.expression: the result is list(int), not string, int, uint, double, duration or timestamp
pod.yaml:33:19: stage "one": spec.next.event.type: unknown type "Strange"; want Normal or Warning
pod.yaml:36:14: stage "one": spec.next.statusTemplate: function "Nwo" not defined
pod.yaml:39:1: document[1]: not YAML: did not find expected node content
pod.yaml:43:1: warning: stage "two": spec.selector: missing, so the stage matches no object; {} matches all
pod.yaml:45:11: stage "two": spec.weight: want an integer, got the string "1"
pod.yaml:47:21: stage "two": spec.steps[0].patch.type: unknown type "strange"; want json, merge or strategic
pod.yaml:47:41: stage "two": spec.steps[0].patch.template: missing value for if
pod.yaml:48:21: stage "two": spec.steps[1].apply.type: unknown type "json"; want apply, merge or strategic
pod.yaml:48:45: stage "two": spec.steps[1].apply.impersonation.username: missing
pod.yaml:49:26: stage "two": spec.steps[2].finalizers.add[0].value: missing
pod.yaml:53:18: stage "two": metadata.name: another stage for Pod has this name, at pod.yaml:42:18
`

func TestLenientLoading(t *testing.T) {
	text := stageYAML("a", "  selector: {matchExpressions: [{key: .x, operator: Exists, cel: {expression: 'true'}}]}\n  extra: 1\n  weight: 1\n  weight: 2") + stageYAML("a", "  selector: {}") + stageYAML("none", "  selector: null")
	src := stage.Parse("s.yaml", []byte(text))
	_, err := stage.Compile(stage.Options{}, src)
	require.Error(t, err)
	set, err := stage.Compile(stage.Options{Lenient: true}, src)
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(`
s.yaml:6:33: warning: stage "a": spec.selector.matchExpressions[0]: jq and cel in one expression; jq is used
s.yaml:7:3: warning: stage "a": spec.extra: unknown field
s.yaml:9:3: warning: stage "a": spec.weight: the key is given twice
s.yaml:13:18: warning: stage "a": metadata.name: another stage for Pod has this name, at s.yaml:3:18
s.yaml:23:13: warning: stage "none": spec.selector: missing, so the stage matches no object; {} matches all
`), set.Warnings().Error())
	require.Equal(t, []string{"a", "a"}, set.Stages(set.Kinds()[0]))
}

func TestCommonMistakesAreWarnedAbout(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{strings.Replace(stageYAML("a", "  selector: {}"), "{kind: Pod}", "{apiGroup: apps, kind: Deployment}", 1), `spec.resourceRef.apiGroup: "apps" is read as a version of the core group; want a group and version, such as apps/v1`},
		{stageYAML("a", "  selector: {}\n  next: {}"), "spec.next: empty, so that the stage has no effect"},
		{stageYAML("a", "  next: {delete: true}"), "spec.selector: missing, so the stage matches no object; {} matches all"},
		{stageYAML("a", "  selector: {}\n  next: {statusTemplate: 'a: 1', patches: [{template: 'b: 1'}]}"), "spec.next.statusTemplate: ignored beside patches"},
	} {
		set, err := stage.Compile(stage.Options{}, stage.Parse("s.yaml", []byte(tc.text)))
		require.NoError(t, err)
		require.ErrorContains(t, set.Warnings(), tc.want)
	}
	for _, kind := range []string{"stage", "Stages"} {
		require.ErrorContains(t, stage.Parse("s.yaml", []byte(strings.Replace(stageYAML("a", "  selector: {}"), "kind: Stage", "kind: "+kind, 1))).Errors(), "want Stage")
	}
}

func TestMisuseDoesNotPanic(t *testing.T) {
	set := compile(t, stageYAML("a", "  selector: {}"))
	for _, s := range []*stage.Set{set, {}} {
		require.Empty(t, s.Candidates(nil, start))
		_, ok := s.Next(nil, start, 0, 0)
		require.False(t, ok)
		s.ObserveEnv(nil)
		s.ForgetEnv(nil)
		require.NoError(t, stage.NewEngine(s, stage.EngineOptions{}).Observe(nil, start))
	}
	require.Empty(t, new(stage.Set).Candidates(pod(t, "{}", "{}"), start))
	var zero stage.Transition
	require.NotPanics(t, func() { _ = zero.String() })
	require.False(t, zero.Immediate())
	_, err := zero.Effects(pod(t, "{}", "{}"), start)
	require.Error(t, err)
	_, err = set.Candidates(pod(t, "{}", "{}"), start)[0].Transition(0).Effects(nil, start)
	require.Error(t, err)
	_, err = stage.Patch{}.NoOp(nil)
	require.Error(t, err)
	require.NotPanics(t, func() { _, _, _ = stage.Apply{}.String(), stage.Patch{}.String(), stage.KeyOf(nil) })
}

func TestLoadReadsFilesDirectoriesAndFileSystems(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	write("b.yaml", stageYAML("b", "  selector: {}"))
	write("a/a.json", `{"apiVersion":"kwok.x-k8s.io/v1alpha1","kind":"Stage","metadata":{"name":"a"},"spec":{"resourceRef":{"kind":"Pod"},"selector":{}}}`)
	write("README.md", "not a manifest: [")
	list := "apiVersion: v1\nkind: List\nitems:\n- apiVersion: kwok.x-k8s.io/v1alpha1\n  kind: Stage\n  metadata: {name: c}\n  spec:\n    resourceRef: {kind: Pod}\n    selector: {}\n    wrong: 1\n- apiVersion: v1\n  kind: ConfigMap\n"
	write("c.yml", list)
	order := func(s stage.Source) (names []string) {
		for _, st := range s.Stages() {
			names = append(names, st.Name)
		}
		return names
	}

	all, err := stage.Load(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, order(all))
	require.Len(t, all.OtherObjects(), 1)
	require.Equal(t, filepath.Join(dir, "c.yml")+`:10:5: stage "c": spec.wrong: unknown field`, all.Errors().Error())

	one, err := stage.Load(filepath.Join(dir, "b.yaml"), filepath.Join(dir, "a"))
	require.NoError(t, err)
	require.Equal(t, []string{"b", "a"}, order(one))

	_, err = stage.Load(filepath.Join(dir, "nope.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)

	require.Equal(t, []string{"c"}, order(stage.Parse("stdin", []byte(list))))
}

func TestOtherKindsNamedStageAreNotOurs(t *testing.T) {
	src := stage.Parse("k.yaml", []byte("apiVersion: kargo.akuity.io/v1alpha1\nkind: Stage\nmetadata: {name: x}\n"))
	require.Empty(t, src.Errors())
	require.Empty(t, src.Stages())
	require.Len(t, src.OtherObjects(), 1)
}

func TestObjectsHavePathsButNoPositions(t *testing.T) {
	_, err := stage.Compile(stage.Options{}, stage.FromStages(v1alpha1.Stage{Spec: v1alpha1.StageSpec{Weight: -1}}))
	var fault *stage.Error
	require.True(t, errors.As(err, &fault))
	require.NotEmpty(t, fault.Path)
	require.Zero(t, fault.Position)
}

func FuzzCompile(f *testing.F) {
	f.Add(faulty)
	f.Add(stageYAML("a", "  selector: {}\n  next: {statusTemplate: '{{ .a }}', delete: true}"))
	f.Add("apiVersion: v1\nkind: List\nitems: [1, {kind: Stage}, null]\n")
	f.Add("{\"kind\": \"Stage\", \"spec\": {\"steps\": [{\"patch\": {\"type\": 1}}]}}")
	f.Fuzz(func(t *testing.T, text string) {
		for _, lenient := range []bool{true, false} {
			_, err := stage.Compile(stage.Options{Lenient: lenient}, stage.Parse("f", []byte(text)))
			var faults stage.Errors
			if err == nil {
				return
			}
			require.ErrorAs(t, err, &faults)
			for _, fault := range faults {
				require.NotEmpty(t, fault.Path, fault.Error())
				require.Positive(t, fault.Position.Line, fault.Error())
			}
		}
	})
}

// TestStageLikeDocumentsAreNamed: kwok's loader looks at the kind only, so a Stage of another group
// is played there. Here it is a fault, not an object like any other.
func TestStageLikeDocumentsAreNamed(t *testing.T) {
	const want = "apiVersion: want kwok.x-k8s.io/v1alpha1"
	for text, wanted := range map[string]string{
		"apiVersion: config.kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: a}\n":                                                    want,
		"apiVersion: kwok.sigs.k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: a}\nspec: {resourceRef: {kind: Pod}, selector: {}}\n":        want,
		"apiVersion: v1\nkind: Stage\nmetadata: {name: a}\nspec: {next: {delete: true}}\n":                                                 want,
		"apiVersion: kwok.x-k8s.io/v1beta1\nkind: Stage\nmetadata: {name: a}\n":                                                            want,
		"apiVersion: kargo.akuity.io/v1alpha1\nkind: Stage\nmetadata: {name: a}\nspec: {requestedFreight: []}\n":                           "",
		"apiVersion: config.kwok.x-k8s.io/v1alpha1\nkind: KwokConfiguration\nmetadata: {name: a}\n":                                        "",
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: kwok.dev/v1\n  kind: Stage\n  spec: {resourceRef: {kind: Pod}, selector: {}}\n": want,
	} {
		source := stage.Parse("a.yaml", []byte(text))
		_, err := stage.Compile(stage.Options{}, source)
		if wanted == "" {
			require.NoError(t, err, text)
			require.Len(t, source.OtherObjects(), 1, text)
			continue
		}
		require.ErrorContains(t, err, wanted, text)
		require.ErrorContains(t, err, "a.yaml:", text)
		require.Empty(t, source.OtherObjects(), text)
	}
}

func TestASetWithoutStages(t *testing.T) {
	for name, sources := range map[string][]stage.Source{
		"none": nil, "empty": {stage.Parse("a.yaml", nil)}, "comments": {stage.Parse("a.yaml", []byte("# a\n---\n# b\n"))},
		"an object": {stage.Parse("a.yaml", []byte(podManifest))}, "no values": {stage.FromStages()},
	} {
		set, err := stage.Compile(stage.Options{}, sources...)
		require.NoError(t, err, name)
		require.EqualError(t, set.Warnings(), "warning: there are no Stages: nothing is played", name)
	}
}

const podManifest = "{apiVersion: v1, kind: Pod, metadata: {name: a}}"

func TestNamedFilesHaveStages(t *testing.T) {
	const found = "no Stages; want apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage; there is "
	files := fstest.MapFS{
		"empty.yaml": {}, "comments.yaml": {Data: []byte("# nothing\n")}, "pod.yaml": {Data: []byte(podManifest)},
		"folder/kustomization.yaml": {Data: []byte("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../stages]\n")},
		"stages/a.yaml":             {Data: []byte(stageYAML("a", "  selector: {}"))}, "stages/README.yaml": {},
		"broken.yaml": {Data: []byte("a: [")},
	}
	t.Chdir(t.TempDir())
	require.NoError(t, os.CopyFS(".", files))
	for path, want := range map[string]string{
		"empty.yaml": "empty.yaml: " + found + "nothing", "comments.yaml": "comments.yaml: " + found + "nothing",
		"pod.yaml": "pod.yaml: " + found + "only Pod", "folder": "folder: " + found + "only Kustomization", "stages": "",
	} {
		source, err := stage.Load(path)
		require.NoError(t, err)
		require.Empty(t, source.Errors(), "the text is sound")
		_, err = stage.Compile(stage.Options{}, source)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, want)
		set, err := stage.Compile(stage.Options{Lenient: true}, source)
		require.NoError(t, err)
		require.ErrorContains(t, set.Warnings(), found)
	}
	source, err := stage.Load("stages", "empty.yaml", "broken.yaml")
	require.NoError(t, err)
	_, err = stage.Compile(stage.Options{}, source)
	require.ErrorContains(t, err, "empty.yaml: "+found)
	require.NotContains(t, err.Error(), "broken.yaml: "+found)
}

// TestMethodsOfNumbersAreRefused: numbers are json.Number in kwok's templates, with methods, and
// numbers here.
func TestMethodsOfNumbersAreRefused(t *testing.T) {
	for template, want := range map[string]string{
		"a: {{ (index .status.list 0).count.Int64 }}": "stages.yaml:7:61: stage \"a\": spec.next.statusTemplate: a number has no method Int64; remove .Int64",
		"a: {{ .status.count.Float64 }}":              "remove .Float64",
		"a: {{ .status.count.String | Quote }}":       "remove .String",
		"a: b.Int64 {{ .status.count }}.String":       "",
	} {
		_, err := stage.Compile(stage.Options{}, stage.Parse("stages.yaml", []byte(stageYAML("a", "  selector: {}\n  next: {statusTemplate: '"+template+"'}"))))
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}

// An item of a typed List has the kind of the List, as kubectl get --raw prints it.
func TestItemsHaveTheKindOfTheirList(t *testing.T) {
	others := stage.Parse("pods.json", []byte(`{"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "a"}}, {"apiVersion": "v1", "kind": "Node"}]}`)).OtherObjects()
	require.Len(t, others, 2)
	require.Equal(t, []string{"v1", "Pod"}, []string{others[0].GetAPIVersion(), others[0].GetKind()})
	require.Equal(t, "Node", others[1].GetKind())
}
