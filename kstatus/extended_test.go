package kstatus_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/txtar"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

func TestExtended(t *testing.T) { runCases(t, "extended", kstatus.Extended()) }

// TestExtendedAllocatesNothing measures what is usual: objects that are as they should be.
// Conditions in an annotation have to be decoded.
func TestExtendedAllocatesNothing(t *testing.T) {
	for _, file := range caseFiles(t, "extended") {
		archive, err := txtar.ParseFile(file)
		require.NoError(t, err)
		for _, c := range archive.Files {
			obj := parse(t, string(c.Data))
			if kstatus.Extended().Compute(obj, now).Status == kstatus.Current && c.Name != "version one hides its conditions" {
				require.Zero(t, testing.AllocsPerRun(10, func() { kstatus.Extended().Compute(obj, now) }), c.Name)
			}
		}
	}
}

// FuzzExtended begins with an object of each kind that has rules, and holds what is true of all of
// them: one verdict an object, whatever the order of its maps, that an explanation shares, and none
// but Terminating for what is being deleted.
func FuzzExtended(f *testing.F) {
	files, err := filepath.Glob("testdata/extended/*.txtar")
	require.NoError(f, err)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		require.NoError(f, err)
		for _, c := range archive.Files {
			data, err := json.Marshal(parse(f, string(c.Data)).Object)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, obj := range decodings(data) {
			for _, rules := range []*kstatus.Rules{kstatus.Extended(), kstatus.Extended().Generic()} {
				r := rules.Compute(obj, now)
				for range 5 {
					require.Equal(t, r, rules.Compute(obj.DeepCopy(), now))
				}
				require.Equal(t, r, rules.Explain(obj, now).Result)
				require.False(t, r.Terminal && r.Status != kstatus.Failed || r.Suspended && r.Status != kstatus.Current, r.String())
			}
			if _, ok := obj.Object["metadata"].(map[string]any); ok {
				obj.Object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
				require.Equal(t, kstatus.Terminating, kstatus.Extended().Compute(obj, now).Status)
			}
		}
	})
}

func BenchmarkExtended(b *testing.B) {
	for name, obj := range measured(b) {
		b.Run(name, func(b *testing.B) {
			rules := kstatus.Extended()
			b.ReportAllocs()
			for b.Loop() {
				rules.Compute(obj, now)
			}
		})
	}
}
