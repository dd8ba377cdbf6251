package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// TestKubectlScript runs the same kubectl commands with a separate control plane and with a lab,
// and compares what kubectl prints. Both play the same Stages instead of kubelets. Commands with a
// different output are listed in testdata/kubectl/differences.txt, with the reason. A row whose
// command prints the same is an error.
func TestKubectlScript(t *testing.T) {
	script, err := os.ReadFile("testdata/kubectl/script.txt")
	require.NoError(t, err)
	differences := readDifferences(t)
	theirs, ours := startReference(t), startLab(t)
	commands := 0
	for line := range strings.Lines(string(script)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		commands++
		command := strings.TrimLeft(line, "~? ")
		start := time.Now()
		want := theirs.run(t, line)
		middle := time.Now()
		got := ours.run(t, line)
		if took := time.Since(start); took > 5*time.Second {
			t.Logf("kubectl %s: took %s and %s", command, middle.Sub(start), time.Since(middle))
		}
		reason, listed := differences[command]
		switch {
		case want != got && !listed:
			t.Errorf("kubectl %s\n--- kube-apiserver\n%s\n--- ours\n%s", command, want, got)
		case want == got && listed:
			t.Errorf("kubectl %s: prints the same; differences.txt says: %s", command, reason)
		}
	}
	require.GreaterOrEqual(t, commands, 60)
	t.Logf("%d commands, %d listed differences", commands, len(differences))
}

// readDifferences reads lines with a command and a reason, with a tab between them.
func readDifferences(t *testing.T) map[string]string {
	data, err := os.ReadFile("testdata/kubectl/differences.txt")
	require.NoError(t, err)
	differences := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		command, reason, found := strings.Cut(line, "\t")
		require.True(t, found, line)
		differences[command] = strings.TrimSpace(reason)
	}
	return differences
}

// A kubectlUser is a home directory and a cluster.
type kubectlUser struct{ program, kubeconfig, home string }

// startReference starts a control plane with the controllers of Kubernetes, and plays on it.
func startReference(t *testing.T) kubectlUser {
	assets := filepath.Dir(plane.Program("kubectl"))
	if _, err := os.Stat(plane.Program("kubectl")); err != nil {
		t.Skip("no kubectl beside kube-apiserver")
	}
	reference, err := controlplane.Start(assets)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, reference.Stop()) })
	controllers, err := reference.StartControllers()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, controllers.Stop()) })
	cluster, err := kube.NewForConfig(reference.Config())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	set, err := stage.Compile(stage.Options{}, presets.NodeFast(), presets.PodFast())
	require.NoError(t, err)
	go func() { ended <- player.Play(ctx, set, cluster, player.Options{Seed: 1, Filter: isScheduled}) }()
	t.Cleanup(func() { cancel(); <-ended })
	return kubectlUser{reference.Program("kubectl"), reference.Kubeconfig(), t.TempDir()}
}

// isScheduled reports whether a kubelet would play an object.
func isScheduled(obj *unstructured.Unstructured) bool {
	node, _, _ := unstructured.NestedString(obj.Object, "spec", "nodeName")
	return obj.GetKind() != "Pod" || node != ""
}

// startLab serves a lab in real time.
func startLab(t *testing.T) kubectlUser {
	return serveLab(t, labtest.Options{Nodes: -1, Start: time.Now(), OnlyStages: true, Stages: []stage.Source{presets.NodeFast(), presets.PodFast()}})
}

func serveLab(t *testing.T, o labtest.Options) kubectlUser {
	lab := labtest.New(t, o)
	l, err := apiserver.Listen(lab.Cluster(), apiserver.ListenOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- lab.Simulation().Follow(ctx, 1) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-ended) })
	home := t.TempDir()
	text, err := l.Kubeconfig()
	require.NoError(t, err)
	file := filepath.Join(home, "kubeconfig")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return kubectlUser{plane.Program("kubectl"), file, home}
}

// run runs a line of the script. It returns the output, masked, and the exit code.
func (u kubectlUser) run(t *testing.T, line string) string {
	t.Helper()
	command := strings.TrimLeft(line, "~? ")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, u.program, strings.Fields(command)...)
	cmd.Dir = "testdata/kubectl"
	cmd.Env = []string{"HOME=" + u.home, "KUBECONFIG=" + u.kubeconfig, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + u.home}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	code := 0
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		require.NoError(t, err)
	}
	return fmt.Sprintf("%s\nexit %d", masked(out.String(), line[0]), code)
}

// masks replace texts that differ between runs.
var masks = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\b(web|once|other|event|settings|agent)-([0-9a-z]{6,10}-)?[0-9a-z]{5}\b`), "$1-RANDOM"},
	{regexp.MustCompile(`\beyJ[\w-]+\.[\w-]+\.[\w-]+`), "TOKEN"},
	{regexp.MustCompile(`\bweb-[0-9a-z]{6,10}\b`), "web-HASH"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.0-9]*( \+0000|Z)`), "TIME"},
	{regexp.MustCompile(`[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [0-9:]+ [+A-Z0-9]+`), "TIME"},
	{regexp.MustCompile(`resourceVersion: "\d+"`), "resourceVersion: MASKED"},
	{regexp.MustCompile(`pod-template-hash(=|: )"?[0-9a-f]+"?`), "pod-template-hash=HASH"},
	{regexp.MustCompile(`https://127.0.0.1:\d+`), "URL"},
	{regexp.MustCompile(`\b10\.\d+\.\d+\.\d+\b`), "ADDRESS"},
	{regexp.MustCompile(`(LIVE|MERGED)-\d+`), "$1"},
	{regexp.MustCompile(`\S*/(LIVE|MERGED)/`), "$1/"},
	{regexp.MustCompile(`\b\d+m?\d*s\b`), "AGE"},
	{regexp.MustCompile(`\(x\d+ over AGE\)`), ""},
	{regexp.MustCompile(`X509SHA256=[0-9a-f]+`), "HASH"},
	{regexp.MustCompile(`(?m)^Warning: .*: not modelled: .*\n`), ""}, // what only the server in memory says
	{regexp.MustCompile(`  +`), "  "},
}

func masked(text string, mark byte) string {
	for _, m := range masks {
		text = m.pattern.ReplaceAllString(text, m.by)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	switch mark {
	case '~':
		slices.Sort(lines)
		lines = slices.Compact(lines)
	case '?':
		lines = lines[len(lines)-1:]
	}
	return strings.Join(lines, "\n")
}
