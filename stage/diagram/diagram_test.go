package diagram_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/diagram"
	"github.com/stagecraft-go/stagecraft/stage/explore"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

var update = flag.Bool("update", false, "rewrite the wanted pictures")

func TestGolden(t *testing.T) {
	trains := load(t, "testdata/trains.yaml")
	for name, d := range map[string]*diagram.Diagram{
		"trains":        explored(t, trains, trains.OtherObjects()[0]),
		"trains-static": diagram.FromStages(trains.Stages()),
		"pod-fast":      explored(t, presets.PodFast(), pod(t)),
		"pod-general":   diagram.FromStages(presets.PodGeneral().Stages()),
	} {
		for kind, got := range map[string][]byte{"mmd": []byte(d.Mermaid()), "dot": []byte(d.DOT()), "svg": d.SVG()} {
			t.Run(name+"."+kind, func(t *testing.T) {
				file := filepath.Join("testdata", name+"."+kind)
				if *update {
					require.NoError(t, os.WriteFile(file, got, 0o644))
				}
				want, err := os.ReadFile(file)
				require.NoError(t, err)
				require.Equal(t, string(want), string(got))
			})
		}
	}
}

func load(t *testing.T, file string) stage.Source {
	t.Helper()
	source, err := stage.Load(file)
	require.NoError(t, err)
	return source
}

func pod(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(`{apiVersion: v1, kind: Pod,
  metadata: {name: web, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: u}]},
		spec: {nodeName: node-1, containers: [{name: c, image: c}]}}`), &obj.Object))
	return obj
}

func explored(t *testing.T, source stage.Source, obj *unstructured.Unstructured) *diagram.Diagram {
	t.Helper()
	set, err := stage.Compile(stage.Options{}, source)
	require.NoError(t, err)
	o := explore.Options{Actions: []explore.Action{explore.Delete()}, Kinds: []memory.Kind{{GroupVersionKind: obj.GroupVersionKind(), Status: true}}}
	g, err := explore.Explore(t.Context(), set, o, obj)
	require.NoError(t, err)
	return diagram.FromGraph(g, diagram.Options{Stages: source.Stages(), Selectors: obj.GetKind() == "Train"})
}

// hostile has text that each format must escape.
const hostile = "a \"b\" <c> & `d` \\ | # ; %% \n{e} \x01 \xff ünïcode 中文"

func TestAnyTextIsText(t *testing.T) {
	d := &diagram.Diagram{
		Boxes:  []diagram.Box{{Title: hostile, Lines: []string{hostile}, Tooltip: hostile}, {Title: ""}},
		Arrows: []diagram.Arrow{{From: 0, To: 1, Title: hostile, Lines: []string{hostile}, Tooltip: hostile}, {From: 1, To: 1, Title: "x", Style: diagram.Problem}},
	}
	wellFormed(t, d.SVG())
	require.Contains(t, d.Mermaid(), `n1(" ")`, "Mermaid reads no empty text")
	for _, text := range []string{d.Mermaid(), d.DOT()} {
		require.NotContains(t, text, "\n{e}", "a line break is escaped")
		require.NotContains(t, text, `a "b"`)
		require.True(t, utf8.ValidString(text))
		require.NotContains(t, text, "\x01")
	}
}

// TestSetsFromTheWild draws the Stages of the recorded cases.
func TestSetsFromTheWild(t *testing.T) {
	suites, err := filepath.Glob("../../../shared/conformance/stage/*/stages")
	require.NoError(t, err)
	if len(suites) == 0 {
		t.Skip("the recorded cases are not beside this repository")
	}
	for _, suite := range suites {
		source := load(t, suite)
		d := diagram.FromStages(source.Stages())
		require.Len(t, d.Boxes, len(source.Stages()))
		wellFormed(t, d.SVG())
		require.Equal(t, len(d.Arrows), strings.Count(d.DOT(), " -> "), suite)
	}
}

func wellFormed(t *testing.T, svg []byte) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

func TestAnEmptyDiagram(t *testing.T) {
	d := diagram.FromStages(nil)
	require.Equal(t, "flowchart TD\n", d.Mermaid())
	require.NotEmpty(t, d.SVG())
}

func TestLargeGraphs(t *testing.T) {
	d := &diagram.Diagram{}
	for i := range 300 {
		d.Boxes = append(d.Boxes, diagram.Box{Title: fmt.Sprint("state ", i)})
		d.Arrows = append(d.Arrows, diagram.Arrow{From: i / 2, To: i, Title: "stage"}, diagram.Arrow{From: i, To: i / 3, Title: "back"})
	}
	require.NotEmpty(t, d.SVG())
}
