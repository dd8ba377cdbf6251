package harnesses_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// build builds a package of a module, unchanged and with the libraries that its go.mod pins. It returns the
// directory of the module and the program.
func build(t *testing.T, module, directory string) (source, program string) {
	t.Helper()
	if os.Getenv("STAGECRAFT_PROGRAMS") == "" {
		t.Skip("programs of others take minutes to build: make programs")
	}
	text, err := exec.Command("go", "mod", "download", "-json", module).Output()
	require.NoError(t, err, "%s", text)
	var found struct{ Dir string }
	require.NoError(t, json.Unmarshal(text, &found))
	program = filepath.Join(t.TempDir(), "program")
	command := exec.Command("go", "build", "-o", program, directory)
	command.Dir, command.Env = found.Dir, append(os.Environ(), "CGO_ENABLED=0")
	text, err = command.CombinedOutput()
	require.NoError(t, err, "%s", text)
	return found.Dir, program
}

// run runs a program against the server of a lab until the test ends, and returns what it logs. The
// argument KUBECONFIG is replaced by the path of that file.
func run(t *testing.T, lab *labtest.Lab, program string, args ...string) fmt.Stringer {
	t.Helper()
	listener, err := apiserver.Listen(lab.Cluster(), apiserver.ListenOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	text, err := listener.Kubeconfig()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "KUBECONFIG", file)
	}
	log := &lockedBuffer{}
	command := exec.Command(program, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+file, "KUBE_CONFIG="+file, "OPERATOR_NAMESPACE=default")
	command.Stdout, command.Stderr = log, log
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		require.NoError(t, command.Process.Kill())
		_ = command.Wait() // it was killed
	})
	return log
}

// await advances a lab in real time until something holds.
func await(t *testing.T, lab *labtest.Lab, log fmt.Stringer, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !done(); {
		require.True(t, time.Now().Before(end), "%s\n%s", what, log)
		time.Sleep(100 * time.Millisecond)
		lab.Advance(100 * time.Millisecond)
	}
}

// A lockedBuffer is what a program prints.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
