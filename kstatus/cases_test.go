package kstatus_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/internal/txtar"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

var rewrite = flag.Bool("update", false, "rewrite the verdicts in testdata")

// now is the time of all tests.
var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// parse reads a manifest as an API client would.
func parse(t testing.TB, manifest string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(manifest))
	require.NoError(t, err)
	obj := &unstructured.Unstructured{}
	require.NoError(t, k8sjson.Unmarshal(data, &obj.Object))
	return obj
}

// runCases runs the files of a folder of testdata, one file a kind. A case is an object whose name
// reads as a sentence; its first line is the verdict on it:
//
//	-- a pod that is not ready is in progress --
//	# InProgress PodRunningNotReady: Pod is running but is not Ready (status.conditions)
//	apiVersion: v1
//	…
//
// A new case needs no first line: the flag -update writes it.
func runCases(t *testing.T, folder string, rules *kstatus.Rules) {
	for _, file := range caseFiles(t, folder) {
		kind := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(kind, func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			for i, c := range archive.Files {
				archive.Files[i].Data = runCase(t, c, rules)
			}
			if *rewrite {
				require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o644))
			}
		})
	}
}

func caseFiles(t *testing.T, folder string) []string {
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func runCase(t *testing.T, c txtar.File, rules *kstatus.Rules) (rewritten []byte) {
	t.Run(c.Name, func(t *testing.T) {
		want, manifest, _ := bytes.Cut(c.Data, []byte("\n"))
		if !bytes.HasPrefix(want, []byte("#")) {
			want, manifest = nil, c.Data
		}
		obj := parse(t, string(manifest))
		before := obj.DeepCopy()
		got := "# " + verdict(rules.Compute(obj, now))
		require.Equal(t, rules.Compute(obj, now), rules.Explain(obj, now).Result)
		require.Equal(t, before, obj, "computing changes nothing")
		if !*rewrite {
			require.Equal(t, string(want), got, "the first line of the case is its verdict: go test ./kstatus -update writes it; read the difference")
		}
		rewritten = append([]byte(got+"\n"), manifest...)
	})
	return rewritten
}

// verdict is all that a result says, on one line.
func verdict(r kstatus.Result) string {
	s := r.String()
	if r.Field() != "" {
		s += " (" + r.Field() + ")"
	}
	if r.Suspended {
		s += " suspended"
	}
	if r.Terminal {
		s += " terminal"
	}
	if r.RecheckAfter > 0 {
		s += " recheck " + r.RecheckAfter.String()
	}
	if r.Skipped() != "" {
		s += " skipped " + r.Skipped()
	}
	return s
}
