package kstatus_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/internal/words"
)

// A labelled case is a case of the corpus with what its source says.
type labelled struct {
	Name, Group, Manifest, WantStatus, Arguable string
}

// sources returns the custom resources of the corpus by source. The files of Argo CD are one.
func sources(t *testing.T) map[string][]labelled {
	files, err := filepath.Glob("../../shared/conformance/health*/*.json")
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("the conformance corpus is not here")
	}
	out := map[string][]labelled{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var cases []labelled
		require.NoError(t, json.Unmarshal(data, &cases))
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if strings.HasPrefix(name, "argo") || name == "gitops" {
			name = "argo"
		}
		for _, c := range cases {
			if c.WantStatus != "" && c.Arguable == "" && strings.Contains(c.Group, ".") && !strings.HasSuffix(c.Group, "registration.k8s.io") && c.Group != "apiextensions.k8s.io" && c.Group != "networking.k8s.io" {
				out[name] = append(out[name], c)
			}
		}
	}
	return out
}

// TestLeaveOneSourceOut judges the custom resources of each source without what only that source
// shows: no table knows their kinds, and each word of our lexicon that no object of another source
// has is replaced by one without a meaning. That is harder than a new source would be: words of plain
// English are taken away too.
func TestLeaveOneSourceOut(t *testing.T) {
	bySource := sources(t)
	used := map[string]map[string]bool{}
	for name, cases := range bySource {
		used[name] = map[string]bool{}
		for _, c := range cases {
			eachText(parse(t, c.Manifest).Object["status"], func(s string) string {
				for word, rest := words.Cut(s); word != ""; word, rest = words.Cut(rest) {
					used[name][strings.ToLower(word)] = true
				}
				return s
			})
		}
	}
	total, exact, falselyCurrent, convention, conventionFalse := 0, 0, 0, 0, 0
	for _, name := range slices.Sorted(maps.Keys(bySource)) {
		n, right, early, removed := 0, 0, 0, map[string]bool{}
		for _, c := range bySource[name] {
			obj := parse(t, c.Manifest)
			if obj.GetDeletionTimestamp() != nil {
				continue
			}
			obj.Object["status"] = eachText(obj.Object["status"], func(s string) string { return unlearned(s, name, used, removed) })
			obj.SetAPIVersion("unknown.test/v1")
			r := kstatus.Extended().Generic().Compute(obj, now)
			n++
			switch wrong := string(r.Status) != c.WantStatus; {
			case !wrong:
				right++
			case r.Status == kstatus.Current:
				early++
				if r.Basis == kstatus.BasisConvention {
					conventionFalse++
				}
			}
			if r.Basis == kstatus.BasisConvention {
				convention++
			}
		}
		t.Logf("%s: %d cases, %.1f %% exact, %d falsely Current; without %d words: %s", name, n, 100*float64(right)/float64(max(1, n)), early,
			len(removed), strings.Join(slices.Sorted(maps.Keys(removed)), " "))
		total, exact, falselyCurrent = total+n, exact+right, falselyCurrent+early
	}
	t.Logf("all: %d cases, %.1f %% exact, %d falsely Current (%.1f %%); on a convention %d of %d", total, 100*float64(exact)/float64(total), falselyCurrent,
		100*float64(falselyCurrent)/float64(total), conventionFalse, convention)
	require.GreaterOrEqual(t, 100*exact, 80*total)
	require.LessOrEqual(t, 100*falselyCurrent, 5*total)
	require.LessOrEqual(t, 100*conventionFalse, convention)
}

// eachText returns a value with all its strings replaced.
func eachText(v any, replace func(string) string) any {
	switch v := v.(type) {
	case string:
		return replace(v)
	case []any:
		for i, item := range v {
			v[i] = eachText(item, replace)
		}
	case map[string]any:
		for key, item := range v {
			v[key] = eachText(item, replace)
		}
	}
	return v
}

// unlearned replaces the words that only one source has. The statuses of conditions stay, and so does
// Ready, which is a convention.
func unlearned(s, source string, used map[string]map[string]bool, removed map[string]bool) string {
	var out strings.Builder
	rest := s
	for {
		word, after := words.Cut(rest)
		if word == "" {
			out.WriteString(rest)
			return out.String()
		}
		at := strings.Index(rest, word)
		out.WriteString(rest[:at])
		if words.Of(word) != words.None && !strings.HasSuffix(word, "ing") && !elsewhere(strings.ToLower(word), source, used) {
			removed[strings.ToLower(word)] = true
			word = "Zqx"
		}
		out.WriteString(word)
		rest = after
	}
}

func elsewhere(word, source string, used map[string]map[string]bool) bool {
	for other, words := range used {
		if other != source && words[word] {
			return true
		}
	}
	return false
}
