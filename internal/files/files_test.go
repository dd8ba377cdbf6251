package files_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/files"
)

// TestMain plays a program that writes a file, and fails or is killed, if a test asks for it.
func TestMain(m *testing.M) {
	name := os.Getenv("FILES_NAME")
	if name == "" {
		os.Exit(m.Run())
	}
	err := files.Write(name, func(w io.Writer) error {
		if _, err := io.WriteString(w, strings.Repeat("new", 10_000)); err != nil {
			return err
		}
		if os.Getenv("FILES_WAIT") != "" {
			println("half")
			select {}
		}
		return nil
	})
	if err != nil {
		println(err.Error())
		os.Exit(3)
	}
	os.Exit(0)
}

// child is the program that writes a file.
func child(t *testing.T, name string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, "FILES_NAME="+name)...)
	return cmd
}

func old(t *testing.T) string {
	name := filepath.Join(t.TempDir(), "story.txtar")
	require.NoError(t, os.WriteFile(name, []byte("old"), 0o600))
	return name
}

// only requires that a file has a text, and that its directory has no other file.
func only(t *testing.T, name, text string) {
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, text, string(data))
	entries, err := os.ReadDir(filepath.Dir(name))
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// A limit on the size of files fails a write in the middle, as a full disk does.
func TestAFullDiskLeavesTheFile(t *testing.T) {
	name := old(t)
	sh := exec.Command("sh", "-c", `ulimit -f 8; exec "$0"`, os.Args[0]) // 4 or 8 KiB
	sh.Env = append(os.Environ(), "FILES_NAME="+name)
	out, err := sh.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), syscall.EFBIG.Error())
	only(t, name, "old")
}

func TestAKillInTheMiddleLeavesTheFile(t *testing.T) {
	name := old(t)
	cmd := child(t, name, "FILES_WAIT=1")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stderr).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "half\n", line)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "old", string(data))
}

func TestWrite(t *testing.T) {
	name := old(t)
	require.NoError(t, child(t, name).Run())
	only(t, name, strings.Repeat("new", 10_000))
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "the permissions stay")

	failed := errors.New("no more")
	require.ErrorIs(t, files.Write(name, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return failed
	}), failed)
	only(t, name, strings.Repeat("new", 10_000))
	require.ErrorIs(t, files.WriteBytes(filepath.Join(t.TempDir(), "none", "f"), nil), os.ErrNotExist)
}

func TestWriteOfNewFilesLinksAndDevices(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, files.WriteBytes(filepath.Join(dir, "file"), []byte("a")))
	require.NoError(t, os.Symlink("file", filepath.Join(dir, "link")))
	require.NoError(t, files.WriteBytes(filepath.Join(dir, "link"), []byte("b")))
	info, err := os.Lstat(filepath.Join(dir, "link"))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	data, err := os.ReadFile(filepath.Join(dir, "file"))
	require.NoError(t, err)
	require.Equal(t, "b", string(data))
	require.NoError(t, files.WriteBytes(os.DevNull, []byte("c")))
	info, err = os.Lstat(os.DevNull)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeDevice)
}
