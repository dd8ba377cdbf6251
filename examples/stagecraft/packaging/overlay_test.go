package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTemplatesCallTheSameMethods runs a program with text/template as it is, and with ours.
func TestTemplatesCallTheSameMethods(t *testing.T) {
	file, err := overlay(t.TempDir())
	require.NoError(t, err)
	printed := func(flags ...string) string {
		cmd := exec.Command("go", append(append(append([]string{"run"}, flags...), "./testdata/templates"), strings.Fields(methods)...)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	ours := printed("-overlay", file)
	require.Equal(t, printed(), ours)
	require.Contains(t, ours, `Format 0  "2006" 2026 <nil>`)
	require.Contains(t, ours, "Month 1  February <nil>")
}

// TestRenderingIsTheSame runs the tests of package render with our text/template, in make binaries.
func TestRenderingIsTheSame(t *testing.T) {
	if os.Getenv("PACKAGING_SOURCE") == "" {
		t.Skip("part of make binaries")
	}
	file, err := overlay(t.TempDir())
	require.NoError(t, err)
	cmd := exec.Command("go", "test", "-vet=off", "-count=1", "-overlay", file, "./render")
	cmd.Dir = "../../.."
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// TestAnotherTextTemplateIsRefused: what is not understood is not built.
func TestAnotherTextTemplateIsRefused(t *testing.T) {
	_, err := withConstantNames("package template")
	require.ErrorContains(t, err, "want ptr.MethodByName(fieldName) once, and it is there 0 times: this Go needs another packaging/overlay.go")
}

// TestTheServerIsSmall builds the API server alone, in make binaries: at most 50 MB.
func TestTheServerIsSmall(t *testing.T) {
	if os.Getenv("PACKAGING_SOURCE") == "" {
		t.Skip("part of make binaries")
	}
	folder := filepath.Join(t.TempDir(), "dist")
	require.NoError(t, run([]string{"-out", folder, "-source", "../testdata/server", "-targets", "linux/amd64"}))
	binary, err := os.Stat(filepath.Join(folder, "stagecraft-linux-amd64"))
	require.NoError(t, err)
	t.Logf("%.1f MB", float64(binary.Size())/1e6)
	require.LessOrEqual(t, binary.Size(), int64(50_000_000))
}
