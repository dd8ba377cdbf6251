package e2e_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// A disk is what the containers of a lab have stored by kubectl cp.
type disk struct {
	mu    sync.Mutex
	files map[string]string
}

// exec has the commands of kubectl cp, and a few others.
func (d *disk) exec(_ context.Context, _ containers.Container, c containers.Command) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch strings.Join(c.Argv[:min(len(c.Argv), 2)], " ") {
	case "tar cf":
		name := strings.TrimPrefix(c.Argv[3], "/")
		w := tar.NewWriter(c.Stdout)
		err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(d.files[name])), Mode: 0o600})
		_, written := io.WriteString(w, d.files[name])
		return 0, errors.Join(err, written, w.Close())
	case "tar -xmf":
		r := tar.NewReader(c.Stdin)
		for {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				return 0, nil
			}
			if err != nil {
				return 1, err
			}
			text, err := io.ReadAll(r)
			if err != nil {
				return 1, err
			}
			d.files[strings.TrimPrefix(filepath.Join(c.Argv[len(c.Argv)-1], h.Name), "/")] = string(text)
		}
	case "cat":
		_, err := io.Copy(c.Stdout, c.Stdin)
		return 0, err
	case "fail":
		return 3, nil
	}
	return 1, nil // test -d
}

// TestKubectlReachesContainers runs kubectl logs, exec, cp, top and run with a lab.
func TestKubectlReachesContainers(t *testing.T) {
	if _, err := os.Stat(plane.Program("kubectl")); err != nil {
		t.Skip("no kubectl beside kube-apiserver")
	}
	d := &disk{files: map[string]string{}}
	o := containers.Options{
		Exec: d.exec,
		Logs: func(_ context.Context, c containers.Container) (iter.Seq[containers.Line], error) {
			if c.Pod.GetName() != "p" {
				return nil, containers.ErrNotSimulated
			}
			return containers.Lines("one", "two"), nil
		},
		Usage: func(containers.Container, time.Time) (containers.Usage, error) {
			return containers.Usage{CPU: resource.MustParse("250m"), Memory: resource.MustParse("64Mi")}, nil
		},
	}
	u := serveLab(t, labtest.Options{Start: time.Now(), Containers: o})
	kubectl := func(stdin string, args ...string) (string, int) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, u.program, args...)
		cmd.Dir, cmd.Stdin = u.home, strings.NewReader(stdin)
		cmd.Env = []string{"HOME=" + u.home, "KUBECONFIG=" + u.kubeconfig, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + u.home}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return out.String(), exit.ExitCode()
		}
		require.NoError(t, err)
		return out.String(), 0
	}
	check := func(want string, code int, stdin string, args ...string) {
		t.Helper()
		out, got := kubectl(stdin, args...)
		require.Contains(t, out, want, "%v", args)
		require.Equal(t, code, got, "%v: %s", args, out)
	}
	check("created", 0, `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}`, "apply", "-f", "-")
	check("condition met", 0, "", "wait", "--for=condition=Ready", "pod/p", "--timeout=1m")
	check("one\ntwo\n", 0, "", "logs", "p")
	check("two\n", 0, "", "logs", "p", "--tail=1")
	check("previous terminated container \"c\" in pod \"p\" not found", 1, "", "logs", "p", "--previous")
	check("hi there", 0, "hi there", "exec", "-i", "p", "--", "cat")
	check("exit code 3", 3, "", "exec", "p", "--", "fail")
	require.NoError(t, os.WriteFile(filepath.Join(u.home, "given"), []byte("the text"), 0o600))
	check("", 0, "", "cp", "given", "p:/data/stored")
	check("", 0, "", "cp", "p:/data/stored", "back")
	text, err := os.ReadFile(filepath.Join(u.home, "back"))
	require.NoError(t, err)
	require.Equal(t, "the text", string(text))
	check("250m", 0, "", "top", "pods")
	check("64Mi", 0, "", "top", "nodes")
	check("hi\n", 0, "", "run", "x", "--image=busybox", "--restart=Never", "--rm", "-i", "--", "echo", "hi")
	out, code := kubectl("", "logs", "none")
	require.Equal(t, 1, code, fmt.Sprint(out))
}
