package main

import (
	"flag"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

var update = flag.Bool("update", false, "rewrite the tables of kstatus/ACCURACY.md")

const (
	corpus       = "../../../../shared/conformance"
	accuracyFile = "../../../kstatus/ACCURACY.md"
	tablesBegin  = "<!-- written by go test ./internal/dev/conformance -run TestAccuracy -update -->\n"
	tablesEnd    = "<!-- end -->\n"
)

// corpusRows are the scores of the corpus, which several tests look at.
var corpusRows = sync.OnceValues(func() ([]*scoreRow, error) { return scoreRows(corpus) })

// TestAccuracy holds the tables of kstatus/ACCURACY.md against the scores.
func TestAccuracy(t *testing.T) {
	if _, err := os.Stat(corpus + "/health"); err != nil {
		t.Skip("../shared/conformance is not here, so that ACCURACY.md cannot be checked: ", err)
	}
	rows, err := corpusRows()
	require.NoError(t, err)
	requireTable(t, tablesBegin, tablesEnd, accuracyTables(rows))
}

// requireTable compares a table with the one between two lines of ACCURACY.md, or writes it there.
func requireTable(t *testing.T, begin, end, table string) {
	t.Helper()
	data, err := os.ReadFile(accuracyFile)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(data), begin)
	require.True(t, found, "ACCURACY.md has no place for the table")
	old, after, found := strings.Cut(rest, end)
	require.True(t, found, "the place for the table has no end")
	if *update {
		require.NoError(t, os.WriteFile(accuracyFile, []byte(before+begin+table+end+after), 0o644))
		return
	}
	require.Equal(t, table, old, "go test ./internal/dev/conformance -run %s -update", t.Name())
}

// TestGoals holds the scores that the rules must keep.
func TestGoals(t *testing.T) {
	if _, err := os.Stat(corpus + "/health"); err != nil {
		t.Skip("../shared/conformance is not here: ", err)
	}
	rows, err := corpusRows()
	require.NoError(t, err)
	const standard, extended, generic = 0, 1, 2
	for _, r := range rows {
		sure, all := r.of(extended, false), r.of(extended, true)
		least := map[string]float64{"argo": 97, "argo-2": 93, "other, together": 90}[r.name]
		require.GreaterOrEqual(t, 100*float64(sure.exact), least*float64(sure.total), r.name)
		if r.dir == "health" { // health-3 has arguable objects without a status, which upstream calls Current
			require.GreaterOrEqual(t, all.exact, r.of(standard, true).exact, "%s: below upstream", r.name)
		}
		require.GreaterOrEqual(t, sure.exact, r.of(standard, false).exact, "%s: below upstream", r.name)
		require.LessOrEqual(t, 100*sure.falseCurrent, sure.total, r.name)
		if r.name == "other, together" {
			require.LessOrEqual(t, 100*all.falseCurrent, all.total, "with the arguable cases")
		}
		for _, v := range r.falseCurrent { // the remarks of health-3 give the reasons themselves
			require.True(t, falseCurrentReasons[v.Name] != "" || r.dir == "health-3" && v.Arguable != "", v.Name)
		}
		if r.name == "health-3, together" {
			require.GreaterOrEqual(t, 100*sure.exact, 96*sure.total)
			require.Zero(t, sure.falseCurrent)
		}
		if r.name == "other, together" {
			require.GreaterOrEqual(t, 100*sure.lenient, 94*sure.total)
			require.GreaterOrEqual(t, 100*r.of(generic, false).exact, 85*sure.total)
		}
	}
}

// TestGoalsOfKindsWithoutARule checks how often the rules are right on the custom resources of a
// source whose kinds are in no table. It also checks how certain a verdict is that is based on a
// convention.
func TestGoalsOfKindsWithoutARule(t *testing.T) {
	if _, err := os.Stat(corpus + "/health-3"); err != nil {
		t.Skip("../shared/conformance is not here: ", err)
	}
	rows, err := corpusRows()
	require.NoError(t, err)
	for _, table := range basisTables {
		s := table.score(rows)
		all, convention := s[0], s[kstatus.BasisConvention]
		require.LessOrEqual(t, 100*all.falseCurrent, 5*all.total, table.title)
		require.LessOrEqual(t, 100*convention.falseCurrent, convention.total, table.title)
		if kind := s[kstatus.BasisKind]; kind != nil {
			require.LessOrEqual(t, 100*kind.falseCurrent, kind.total, table.title)
		}
		if table.title == "one source left out, custom resources" {
			require.GreaterOrEqual(t, 100*all.exact, 85*all.total)
		}
	}
}
