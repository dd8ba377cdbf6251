package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
)

// TestFastest runs 40 conformance tests of sig-api-machinery on the server in memory, in one
// process. They were the fastest tests when they were chosen.
func TestFastest(t *testing.T) {
	program, err := controlplane.Tests(kubebin, os.Stderr)
	if errors.Is(err, controlplane.ErrNoTests) {
		t.Skip(err)
	}
	require.NoError(t, err)
	text, err := os.ReadFile("testdata/fastest.list")
	require.NoError(t, err)
	c, err := startCluster(true)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.stop()) }()
	reports := runTogether(t, program, c.kubeconfig, strings.Split(strings.TrimSpace(string(text)), "\n"))
	require.Len(t, reports, 40)
	for _, r := range reports {
		require.Equal(t, "passed", r.State, "%s: %s", r.name(), r.Failure.Message)
	}
}

// A report is about one test in the report of ginkgo.
type report struct {
	ContainerHierarchyTexts           []string
	LeafNodeType, LeafNodeText, State string
	Failure                           struct{ Message string }
}

func (r report) name() string {
	return strings.Join(append(r.ContainerHierarchyTexts, r.LeafNodeText), " ")
}

// runTogether runs tests in one process, one after another.
func runTogether(t *testing.T, program, kubeconfig string, names []string) (found []report) {
	var patterns []string
	for _, name := range names {
		patterns = append(patterns, regexp.QuoteMeta(name))
	}
	file := filepath.Join(t.TempDir(), "report.json")
	out, err := exec.Command(program, "--provider=skeleton", "--kubeconfig="+kubeconfig, "--delete-namespace=true", "--allowed-not-ready-nodes=0",
		"--kubectl-path="+filepath.Join(filepath.Dir(program), "kubectl"), "--ginkgo.no-color", "--ginkgo.silence-skips", "--ginkgo.json-report="+file,
		"--ginkgo.focus=("+strings.Join(patterns, "|")+")$").CombinedOutput()
	if err != nil {
		t.Logf("%v: the end of the output: %s", err, out[max(0, len(out)-2000):])
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var suites []struct{ SpecReports []report }
	require.NoError(t, json.Unmarshal(text, &suites))
	for _, s := range suites {
		for _, r := range s.SpecReports {
			if r.LeafNodeType == "It" && r.State != "skipped" {
				found = append(found, r)
			}
		}
	}
	return found
}
