package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/txtar"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

const (
	unseenBegin = "<!-- written by go test ./internal/dev/conformance -run TestUnseen -update -->\n"
	unseenEnd   = "<!-- end of unseen -->\n"
)

// TestUnseen compares the table of kinds that no rule was tuned for, and each disagreement, with
// ACCURACY.md. It needs no corpus.
func TestUnseen(t *testing.T) {
	cases := unseenCases(t)
	require.GreaterOrEqual(t, len(cases), 60)
	requireTable(t, unseenBegin, unseenEnd, unseenTable(t, cases))
}

// unseenCases reads testdata/unseen.txtar, whose header explains it.
func unseenCases(t *testing.T) (cases []healthCase) {
	archive, err := txtar.ParseFile("testdata/unseen.txtar")
	require.NoError(t, err)
	for _, f := range archive.Files {
		label, manifest, found := strings.Cut(strings.TrimPrefix(string(f.Data), "# "), "\n")
		require.True(t, found, f.Name)
		status, notReady := strings.CutSuffix(label, " or not ready")
		require.Contains(t, []string{"Current", "InProgress", "Failed"}, status, f.Name)
		cases = append(cases, healthCase{
			Name: f.Name, Manifest: manifest, WantStatus: kstatus.Status(status), NotCurrent: notReady,
		})
	}
	return cases
}

func unseenTable(t *testing.T, cases []healthCase) string {
	var b strings.Builder
	b.WriteString("\n| rules | cases | right |\n|---|---|---|\n")
	var misses []verdict
	all, err := judge(cases, profiles[:2]...)
	require.NoError(t, err)
	for i, verdicts := range all {
		p := profiles[i]
		sure, _ := countHealth(verdicts)
		fmt.Fprintf(&b, "| %s | %d | %s |\n", p.name, sure.total, sure.cell())
		misses = verdicts
	}
	b.WriteString("\nWhat Extended says otherwise:\n\n")
	for _, v := range misses {
		if v.got.Status != v.WantStatus {
			fmt.Fprintf(&b, "- %s: want %s%s, got %s\n", v.Name, v.WantStatus, v.remarks(), v.got)
		}
	}
	return b.String()
}

// TestUnseenKindsAreUnseen: the corpus has no kind of the file, and no rule is for such a kind.
func TestUnseenKindsAreUnseen(t *testing.T) {
	seen := map[string]bool{}
	for _, file := range healthFiles {
		corpusCases, err := readHealth(corpus, file)
		require.NoError(t, err)
		for _, c := range corpusCases {
			seen[c.Kind+"."+c.Group] = true
		}
	}
	for _, c := range unseenCases(t) {
		obj, now, err := decode(statusCase{Manifest: c.Manifest})
		require.NoError(t, err)
		gk := obj.GroupVersionKind().GroupKind()
		require.False(t, seen[gk.String()], gk)
		require.Equal(t, kstatus.Extended().Generic().Compute(obj, now), kstatus.Extended().Compute(obj, now), c.Name)
	}
}
