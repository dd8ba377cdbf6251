package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// have skips a test unless a command succeeds.
func have(t *testing.T, hint, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Skipf("%s: %v %s", hint, err, out)
	}
}

// runIn runs a command in a folder, with the test binary as stagecraft.
func runIn(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestPython(t *testing.T) {
	const python = "/usr/bin/python3" // that of Debian, which has Debian's packages
	have(t, "apt-get install python3-kubernetes", python, "-c", "import kubernetes")
	runIn(t, "clients/python", python, "-B", "-m", "unittest", "test_operator")
}

func TestRuby(t *testing.T) {
	have(t, "apt-get install ruby-kubeclient ruby-minitest", "ruby", "-e", "require 'kubeclient'; require 'minitest'")
	runIn(t, "clients/ruby", "ruby", "test_operator.rb")
}

// TestTypeScript installs the client into a folder of this test, from the cache of npm if it has it. That
// takes up to minutes, so that make clients asks for it.
func TestTypeScript(t *testing.T) {
	if os.Getenv("STAGECRAFT_CLIENTS") == "" {
		t.Skip("make clients runs it")
	}
	have(t, "Node.js is not installed", "node", "--version")
	dir := t.TempDir()
	for _, name := range []string{"package.json", "stagecraft.ts", "operator.test.ts"} {
		text, err := os.ReadFile(filepath.Join("clients/typescript", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	install := exec.Command("npm", "install", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("npm cannot install the client: %v %s", err, out)
	}
	runIn(t, dir, "npm", "test")
}

func TestCurl(t *testing.T) {
	have(t, "curl is not installed", "curl", "--version")
	runIn(t, "clients/shell", "stagecraft", "serve", "--speed", "60", "--", "./test.sh")
}

// TestKubeconfigOfWorkflows runs the script for workflows as a step of GitHub does.
func TestKubeconfigOfWorkflows(t *testing.T) {
	env := filepath.Join(t.TempDir(), "env")
	t.Setenv("GITHUB_ENV", env)
	runIn(t, "packaging", "sh", "-c", `file=$(./kubeconfig.sh --bare) && KUBECONFIG=$file stagecraft ready namespaces && kill "$(cat "$file.pid")"`)
	text, err := os.ReadFile(env)
	require.NoError(t, err)
	require.Regexp(t, `^KUBECONFIG=/.*/kubeconfig\n$`, string(text))
	out, err := exec.Command("packaging/kubeconfig.sh", "--speed", "0").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "want more than 0")
}
