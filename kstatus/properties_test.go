package kstatus_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/txtar"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A ruling is the part of a verdict that must not depend on any order. Which of several equal
// reasons is named may.
type ruling struct {
	status              kstatus.Status
	basis               kstatus.Basis
	suspended, terminal bool
	recheck             time.Duration
}

func rulingOf(r kstatus.Result) ruling {
	return ruling{r.Status, r.Basis, r.Suspended, r.Terminal, r.RecheckAfter}
}

// FuzzProperties holds, for any object and for the rules with and without tables of kinds:
//
//   - The order of conditions, of other lists of the status, and of map keys does not matter.
//   - An unknown condition that is True makes no Failed object Current.
//   - Every message, field and reason is one printable line.
//   - Every verdict has a basis.
func FuzzProperties(f *testing.F) {
	for _, manifest := range extendedCases(f) {
		data, err := json.Marshal(parse(f, manifest).Object)
		require.NoError(f, err)
		f.Add(data, uint64(1))
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		for _, obj := range decodings(data) {
			requireProperties(t, obj, seed)
		}
	})
}

// TestPropertiesOfTheCorpus holds the same for the cases of other projects.
func TestPropertiesOfTheCorpus(t *testing.T) {
	files, err := filepath.Glob("../../shared/conformance/health*/*.json")
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("the conformance corpus is not here")
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var cases []healthCase
		require.NoError(t, json.Unmarshal(data, &cases))
		for i, c := range cases {
			t.Run(c.Name, func(t *testing.T) { requireProperties(t, parse(t, c.Manifest), uint64(i)) })
		}
	}
}

func extendedCases(t testing.TB) (manifests []string) {
	files, err := filepath.Glob("testdata/extended/*.txtar")
	require.NoError(t, err)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		require.NoError(t, err)
		for _, c := range archive.Files {
			manifests = append(manifests, string(c.Data))
		}
	}
	return manifests
}

func requireProperties(t *testing.T, obj *unstructured.Unstructured, seed uint64) {
	for _, rules := range []*kstatus.Rules{kstatus.Extended(), kstatus.Extended().Generic()} {
		r := rules.Compute(obj, now)
		require.NotZero(t, r.Basis, r.String())
		for _, text := range []string{r.String(), r.Message(), r.Field(), r.Basis.String()} {
			require.NotContains(t, text, "\n")
			require.Equal(t, -1, strings.IndexFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }), "%q", text)
		}
		for range 3 { // the order of map keys is another each time
			require.Equal(t, rulingOf(r), rulingOf(rules.Compute(shuffled(obj, seed), now)), "%s", r)
		}
		require.Equal(t, rulingOf(r), rulingOf(rules.Compute(shuffled(obj, ^seed), now)), "%s", r)
		if more := rules.Compute(withUnknownCondition(obj), now); r.Status == kstatus.Failed {
			require.NotEqual(t, kstatus.Current, more.Status, "%s became %s", r, more)
		}
	}
}

// shuffled returns a copy whose lists below the status are in another order.
func shuffled(obj *unstructured.Unstructured, seed uint64) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, inner := range v {
				walk(inner)
			}
		case []any:
			for i := range v {
				seed = seed*6364136223846793005 + 1442695040888963407
				j := int(seed>>33) % (i + 1)
				v[i], v[j] = v[j], v[i]
			}
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(obj.Object["status"])
	return obj
}

// withUnknownCondition adds a condition whose name no one knows, at the front.
func withUnknownCondition(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	status, ok := obj.Object["status"].(map[string]any)
	if !ok {
		return obj
	}
	conditions, ok := status["conditions"].([]any)
	if !ok {
		return obj
	}
	status["conditions"] = slices.Insert(conditions, 0, any(map[string]any{"type": "Frobnicated", "status": "True"}))
	return obj
}
