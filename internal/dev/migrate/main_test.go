package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRewrite(t *testing.T) {
	const p = `"github.com/stagecraft-go/stagecraft/`
	for name, c := range map[string][2]string{
		"moved":          {p + `stage/simulation/load"`, p + `stage/lab/load"`},
		"below":          {p + `stage/controllers/kubelet"`, p + `stage/lab/controllers/kubelet"`},
		"not moved":      {p + `stage/simulation"`, p + `stage/simulation"`},
		"a longer name":  {p + `stage/hunting"`, p + `stage/hunting"`},
		"moved before":   {p + `stage/lab/hunt"`, p + `stage/lab/hunt"`},
		"timing":         {p + `stage/timing"`, p + `stage/reconcile/timing"`},
		"a lab":          {p + `stage/stagetest"` + "\nstagetest.New(t, stagetest.LabOptions{})", p + `stage/lab/labtest"` + "\nlabtest.New(t, labtest.Options{})"},
		"stories":        {p + `stage/stagetest"` + "\nstagetest.Run(t, g, stagetest.Options{})", p + `stage/stagetest"` + "\nstagetest.Run(t, g, stagetest.Options{})"},
		"lab and story":  {p + `stage/stagetest"` + "\nstagetest.Ready stagetest.Run", p + `stage/lab/labtest"` + "\n\t" + p + `stage/stagetest"` + "\nlabtest.Ready stagetest.Run"},
		"fakes of a lab": {p + `stage/stagetest/fakes/ctrlruntime"`, p + `stage/lab/fakes/ctrlruntime"`},
	} {
		require.Equal(t, c[1], rewrite(c[0]), name)
	}
}

// TestMigrate rewrites a file in its place, and leaves the others alone.
func TestMigrate(t *testing.T) {
	dir := t.TempDir()
	old := "package p\n\nimport _ \"github.com/stagecraft-go/stagecraft/stage/hunt\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte(old), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.txt"), []byte(old), 0o644))
	require.NoError(t, filepath.WalkDir(dir, migrate))
	a, err := os.ReadFile(filepath.Join(dir, "a.go"))
	require.NoError(t, err)
	require.Equal(t, "package p\n\nimport _ \"github.com/stagecraft-go/stagecraft/stage/lab/hunt\"\n", string(a))
	b, err := os.ReadFile(filepath.Join(dir, "b.txt"))
	require.NoError(t, err)
	require.Equal(t, old, string(b))
}
