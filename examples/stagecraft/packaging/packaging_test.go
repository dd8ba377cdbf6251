package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/require"
)

// TestBuildsAreReproducible builds the binary of this machine twice, in two folders, and compares all files.
// It then runs the binary as the image has it. It is a small program, unless PACKAGING_SOURCE is the folder of
// the command, as in make binaries, which builds the other targets.
func TestBuildsAreReproducible(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the image is one of linux")
	}
	target := "linux/" + runtime.GOARCH
	first, second := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	source := cmp.Or(os.Getenv("PACKAGING_SOURCE"), "testdata/small")
	for _, folder := range []string{first, second} {
		require.NoError(t, run([]string{"-out", folder, "-source", source, "-targets", target, "-version", "v1.2.3"}))
	}
	require.NoError(t, filepath.WalkDir(first, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(first, path)
		require.NoError(t, err)
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(second, rel))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "%s differs", rel)
		return nil
	}))
	cmd := exec.Command("sha256sum", "--check", "SHA256SUMS")
	cmd.Dir = first
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	requireImage(t, first)
	require.ErrorContains(t, run([]string{"-out", first}), "it is not empty")
	require.ErrorContains(t, run([]string{"-targets", "plan9/amd64"}), "-targets plan9/amd64: want some of linux/amd64")
}

// requireImage unpacks the image and runs its program, in its root if this user may.
func requireImage(t *testing.T, folder string) {
	image, err := tarball.ImageFromPath(filepath.Join(folder, "image-"+runtime.GOARCH+".tar"), nil)
	require.NoError(t, err)
	config, err := image.ConfigFile()
	require.NoError(t, err)
	require.Equal(t, []string{"/stagecraft"}, config.Config.Entrypoint)
	require.Equal(t, "65532:65532", config.Config.User)
	root := t.TempDir()
	unpack(t, mutate.Extract(image), root)
	out, err := exec.Command(filepath.Join(root, "stagecraft"), "--version").Output()
	require.NoError(t, err)
	require.Equal(t, "stagecraft version v1.2.3\n", string(out))
	serve := exec.Command(filepath.Join(root, "stagecraft"), "serve", "--bare", "--until-stdin-closes")
	if os.Getuid() == 0 { // as a container: nothing else is there, and the user owns nothing
		serve = inRoot(root, "/stagecraft", "serve", "--bare", "--until-stdin-closes")
	}
	out, err = serve.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.True(t, strings.HasPrefix(string(out), "export KUBECONFIG=/tmp/stagecraft-"), "%s", out)

	index, err := layout.ImageIndexFromPath(filepath.Join(folder, "image"))
	require.NoError(t, err)
	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	require.Len(t, manifest.Manifests, 1)
	require.Equal(t, runtime.GOARCH, manifest.Manifests[0].Platform.Architecture)
}

func unpack(t *testing.T, files io.ReadCloser, root string) {
	defer files.Close()
	for r := tar.NewReader(files); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		name := filepath.Join(root, filepath.FromSlash(header.Name))
		if header.Typeflag == tar.TypeDir {
			require.NoError(t, os.MkdirAll(name, 0o777))
			require.NoError(t, os.Chmod(name, 0o777|os.ModeSticky))
			continue
		}
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, data, header.FileInfo().Mode()))
	}
}
