package main

import (
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/expected"
)

// TestDraw checks that a draw takes as many specs of each group as it may, whatever their order.
func TestDraw(t *testing.T) {
	all := []spec{{name: "[sig-cli] one"}, {name: "[sig-cli] two"}, {name: "no group"}}
	for i := range 2 * perSIG {
		all = append(all, spec{name: fmt.Sprint("[sig-apps] ", i)})
	}
	names := drawn(all)
	require.Len(t, names, perSIG+3)
	slices.Reverse(all)
	require.Equal(t, names, drawn(all))
}

// TestDrawnSpecs checks that the list is one of the size and the kind that the rules allow.
func TestDrawnSpecs(t *testing.T) {
	list, err := expected.Read(specsFile, newSpecs)
	require.NoError(t, err)
	names, sigs := list.Names(""), map[string]int{}
	require.NotEmpty(t, names)
	require.LessOrEqual(t, len(names), mostAll)
	listed, err := listedNames()
	require.NoError(t, err)
	for _, name := range names {
		require.NotContains(t, listed, name)
		sigs[sigOf(name)]++
		require.LessOrEqual(t, sigs[sigOf(name)], perSIG, name)
	}
}

const specsOfOthers = `package apps

var _ = SIGDescribe("a", func() {
	BeforeEach(func() { prepare() })
	It("is plain", func() {
		create()
	})
	It("executes", func() {
		check()
	})
	It("calls kubectl", func() {
		run("kubectl", "logs", "pod")
	})
	Context("served", func() {
		BeforeEach(func() { ready() })
		It("waits", func() { create() })
	})
	ask := func() { deeper() }
	It("asks", func() { ask() })
})

func check() { deeper() }

func deeper() { e2epod.ExecCommandInContainer() }

func ready() { SetHTTPProbe() }

func create() { create() }
`

func TestProcesses(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "apps"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "apps", "a.go"), []byte(specsOfOthers), 0o600))
	p := &processes{dir: dir, files: token.NewFileSet(), pkgs: map[string]*sources{}}
	for line, want := range map[int]string{5: "", 8: "ExecCommandInContainer", 11: "logs", 16: "SetHTTPProbe", 19: "ExecCommandInContainer"} {
		got, err := p.neededBy(spec{name: "a", file: "k8s.io/kubernetes/test/e2e/apps/a.go", line: line})
		require.NoError(t, err)
		require.Equal(t, want, got, "line %d", line)
	}
	driver, err := p.neededBy(spec{file: "k8s.io/kubernetes/test/e2e/storage/testsuites/b.go"})
	require.NoError(t, err)
	require.Equal(t, "storage/testsuites", driver)
	_, err = p.neededBy(spec{file: "k8s.io/kubernetes/test/e2e/apps/c.go"})
	require.ErrorContains(t, err, "apps/c.go: no such file")
}

func TestHowTestsEnd(t *testing.T) {
	state, message := endOf([]byte("[SKIPPED] no zones\n"))
	require.Equal(t, expected.Skip, state)
	require.Equal(t, "the test skips itself: no zones", message)
	state, message = endOf([]byte("[SKIPPED] no zones\n  [FAILED] no Pod\n"))
	require.Equal(t, expected.Fail, state)
	require.Equal(t, "no Pod", message)
}
