package stagecraft_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmeProgramsBuild builds every Go program of the README as if it were a package of this module, and runs those that are tests.
func TestReadmeProgramsBuild(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(readme), "\n"), 150)
	programs := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(readme, -1)
	require.NotEmpty(t, programs)
	for i, program := range programs {
		dir := fmt.Sprintf("internal/readme%d", i)
		if strings.Contains(string(program[1]), "_test\n") {
			binary := build(t, program[1], dir, "program_test.go", "test", "-c", "-vet=off")
			run(t, binary, "-test.v")
		} else {
			build(t, program[1], dir, "program.go", "build")
		}
	}
}

// build builds one file as a package of this module in a folder that does not exist, and returns the program.
func build(t *testing.T, source []byte, dir, name string, verb ...string) string {
	t.Helper()
	root, err := os.Getwd()
	require.NoError(t, err)
	temp := t.TempDir()
	file, overlay, binary := filepath.Join(temp, name), filepath.Join(temp, "overlay.json"), filepath.Join(temp, "program")
	require.NoError(t, os.WriteFile(file, source, 0o644))
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, dir, name): file}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, replace, 0o644))
	run(t, "go", append(verb, "-overlay", overlay, "-o", binary, "./"+dir)...)
	return binary
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(t, err, string(out))
}
