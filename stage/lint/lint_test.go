package lint_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/txtar"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lint"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

var update = flag.Bool("update", false, "rewrite the wanted findings")

// TestRules checks testdata/*.txtar, one file for each rule: Stages in which the rule finds
// something, and similar ones in which it must not. The flag -update rewrites what is wanted.
func TestRules(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			parts := map[string]string{}
			for _, f := range archive.Files {
				parts[f.Name] = string(f.Data)
			}
			findings := lint.Check(stage.Parse("stages.yaml", []byte(parts["stages.yaml"])))
			got := printed(findings)
			if rule := lint.Rule(strings.TrimSuffix(filepath.Base(file), ".txtar")); rule != "compile" {
				require.NotEmpty(t, findings)
				require.False(t, slices.ContainsFunc(findings, func(f lint.Finding) bool { return f.Rule != rule && !f.Rule.Informational() }), got)
			}
			if *update {
				archive.Files = append(slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want" }), txtar.File{Name: "want", Data: []byte(got)})
				require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o600))
				return
			}
			require.Equal(t, parts["want"], got)
		})
	}
}

func printed(findings []lint.Finding) string {
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

func TestPresetsAreClean(t *testing.T) {
	for name, set := range map[string][]stage.Source{
		"nodes":      {presets.NodeFast(), presets.NodeHeartbeat(), presets.NodeChaos()},
		"leases":     {presets.NodeFast(), presets.NodeHeartbeatWithLease(), presets.NodeChaos()},
		"fast":       {presets.PodFast(), presets.PodChaos(), presets.Volumes()},
		"general":    {presets.PodGeneral(), presets.PodChaos()},
		"everything": {presets.NodeFast(), presets.NodeHeartbeat(), presets.NodeChaos(), presets.PodGeneral(), presets.PodChaos(), presets.Volumes()},
	} {
		findings := slices.DeleteFunc(lint.Check(set...), func(f lint.Finding) bool {
			return f.Rule == lint.WritesOthers && strings.HasPrefix(f.Stage, "pv") // the Stages of Volumes
		})
		require.Empty(t, printed(findings), name)
	}
}
