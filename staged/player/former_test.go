package player_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var playFormer = flag.Uint64("former", 0, "how many histories of K0 TestFormerEngine plays; 0: none")

// formerCommit is the last commit before revisions.
const formerCommit = "6b1810284b65ff9a2ffe2dca99f199c767d51d08"

// formerRules are the invariants that the former engine knew, so that it may be judged by them. Nothing in its
// status names a revision, an attempt or a ticket.
const formerRules = "S3,S5,S6,S8"

// TestFormerEngine checks that the model would have seen the faults of the engine from before revisions, which
// inferred versions from times and flags. The histories of K0, which is all that engine could do, are played with
// the package staged of formerCommit: it is read from the repository's history and is in no checkout. The first
// history that breaks each rule is printed.
func TestFormerEngine(t *testing.T) {
	if *playFormer == 0 {
		t.Skip("without -former")
	}
	dir, binary := t.TempDir(), filepath.Join(t.TempDir(), "former.test")
	overlay := filepath.Join(dir, "overlay.json")
	data, err := json.Marshal(map[string]any{"Replace": formerFiles(t, dir)})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, data, 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-c", "-o", binary, "-overlay", overlay, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	cmd := exec.CommandContext(t.Context(), binary, "-test.run", "TestHistories$", "-test.timeout", "0", "-over", string(overHub), "-rules", formerRules,
		"-histories", fmt.Sprint(*playFormer), "-history", fmt.Sprint(*firstSeed), "-shrink=false")
	cmd.Env = append(os.Environ(), "GO_ON=1")
	out, _ = cmd.CombinedOutput()
	first, counts := map[string]string{}, map[string]int{}
	for _, found := range foundBy.FindAllStringSubmatch(string(out), -1) {
		if counts[found[2]]++; counts[found[2]] == 1 {
			first[found[2]] = found[0]
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(first)) {
		t.Logf("%d of %d histories break %s; the first: %s", counts[rule], *playFormer, rule, first[rule])
	}
	require.NotEmpty(t, first, "the model does not catch the former engine:\n%s", out)
}

var stagedImport = regexp.MustCompile(`"github.com/stagecraft-go/stagecraft/staged(/[^"]*)?"`)

// formerFiles writes the former package into a directory, and returns which files of this module stand for its
// files: they are below staged/internal/former, with the shims that join it to the model.
func formerFiles(t *testing.T, dir string) map[string]string {
	here, err := filepath.Abs(".")
	require.NoError(t, err)
	archive, err := exec.CommandContext(t.Context(), "git", "-C", filepath.Join(here, "../.."), "archive", formerCommit, "staged").Output()
	require.NoError(t, err, "this needs a clone with the history")
	into := filepath.Join(here, "../internal/former")
	files := map[string]string{
		filepath.Join(here, "former_shim_test.go"): filepath.Join(here, "testdata/former/shim.go.txt"),
		filepath.Join(into, "player/direct.go"):    filepath.Join(here, "testdata/former/direct.go.txt"),
	}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		name := strings.TrimPrefix(header.Name, "staged/")
		if header.Typeflag != tar.TypeReg || strings.HasSuffix(name, "_test.go") {
			continue
		}
		content, err := io.ReadAll(r)
		require.NoError(t, err)
		content = stagedImport.ReplaceAll(content, []byte(`"github.com/stagecraft-go/stagecraft/staged/internal/former$1"`))
		if clock := []byte("time.Now()"); strings.HasPrefix(name, "player/") && bytes.Contains(content, clock) {
			content = append(bytes.ReplaceAll(content, clock, []byte("wall()")), "\nvar _ time.Time\n"...)
		}
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		require.NoError(t, os.WriteFile(file, content, 0o600))
		files[filepath.Join(into, name)] = file
	}
}
