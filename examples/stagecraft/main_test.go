package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the wanted output of scripts and pictures")

// TestMain makes the test binary the command that scripts and pages run.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"stagecraft":    func() { os.Exit(execute()) },
		"kubectl-ready": func() { os.Exit(execute()) },
	})
}

// TestScripts runs the scripts of testdata, at least one for each command.
func TestScripts(t *testing.T) {
	data, err := filepath.Abs("testdata")
	require.NoError(t, err)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: *update, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("DATA", data)
			env.Setenv("ROLLOUTS", filepath.Join(filepath.Dir(data), "rehearsals"))
			env.Setenv("NO_COLOR", "1")
			return useGo(env) // hunt replay runs go test
		},
	})
}

// useGo gives a script the caches and the settings of this go command.
func useGo(env *testscript.Env) error {
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GONOSUMDB"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			return err
		}
		env.Setenv(name, strings.TrimSpace(string(value)))
	}
	return nil
}

// TestPictures draws the lives of the presets. To draw them again: make pictures.
func TestPictures(t *testing.T) {
	for name, args := range map[string][]string{
		"pod-fast":           {"-p", "pod-fast", "--object", "testdata/objects/pod.yaml", "--delete"},
		"pod-general":        {"-p", "pod-general", "--object", "testdata/objects/pod.yaml", "--delete"},
		"pod-general-stages": {"-p", "pod-general"},
		"pod-chaos":          {"-p", "pod-general,pod-chaos", "--object", "testdata/objects/chaos-pod.yaml"},
		"node":               {"-p", "node-fast,node-heartbeat", "--object", "testdata/objects/node.yaml"},
		"volumes":            {"-p", "volumes", "--object", "testdata/objects/claim.yaml", "--delete"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := exec.Command("stagecraft", append([]string{"diagram", "-o", "svg"}, args...)...).Output()
			require.NoError(t, err)
			requireFile(t, filepath.Join("testdata/pictures", name+".svg"), got)
		})
	}
}

// TestStories rehearses the files of testdata: policies of users, with workload and clusters.
func TestStories(t *testing.T) {
	for name, args := range map[string][]string{
		"batches": {"--cluster-label", "site", "--explain"}, "broken": nil,
		"certificates": {"--start", "2026-03-06T21:00:00Z", "--longest", "168h"}, "migration": {"--approve", "before.prod=2h", "--latency", "2s"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata/rehearsals", name)
			got, err := exec.Command("stagecraft", append([]string{"rehearse", file + ".yaml"}, args...)...).Output()
			require.NoError(t, err)
			requireFile(t, file+".txt", got)
		})
	}
}

// requireFile requires that a file has a text, or writes it.
func requireFile(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(name, got, 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}
