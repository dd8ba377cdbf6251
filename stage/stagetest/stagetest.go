package stagetest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stagecraft-go/stagecraft/internal/files"
	"github.com/stagecraft-go/stagecraft/internal/txtar"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Options of [Run] and [Play]. The zero value is the default.
type Options struct {
	// Update makes Run write its results into the files instead of comparing.
	Update bool
	// Stages are played in every story, before the Stages of the story itself.
	Stages []stage.Source
	// Compile are the options with which the Stages are compiled. A story can add Lenient and Extensions. An Env
	// given here is shared by all stories, with the addresses that it has allocated.
	Compile stage.Options
	// Kinds are kinds in addition to the stable kinds of Kubernetes and the kinds that a story
	// defines.
	Kinds []memory.Kind
	// LivelockLimit is the number of transitions that one object may make while no time passes.
	// After more transitions the Engine stops playing the object and reports a livelock. Default
	// 100.
	LivelockLimit int
}

// Run plays every story that matches a glob pattern, as a subtest named after its file. It compares
// the trace with the file want of the archive. It fails if no file matches the pattern.
func Run(t *testing.T, glob string, o Options) {
	t.Helper()
	names, err := filepath.Glob(glob)
	if err != nil || len(names) == 0 {
		t.Fatalf("stagetest: no story matches %q (%v)", glob, err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			if err := check(name, o); err != nil {
				t.Error(err)
			}
		})
	}
}

// Play plays one story and returns its trace, which should be the content of its file want. The
// name is used in errors. Errors are mistakes in the story itself, as name:line: reason.
func Play(name string, archive []byte, o Options) ([]byte, error) {
	s := newStory(name, txtar.Parse(archive), o)
	if err := s.play(); err != nil {
		return nil, err
	}
	return s.trace.text.Bytes(), nil
}

// wantFile is the name of the file with the wanted trace.
const wantFile = "want"

// check plays the story of a file and compares its trace, or rewrites the file.
func check(name string, o Options) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	got, err := Play(name, data, o)
	if err != nil {
		return err
	}
	archive := txtar.Parse(data)
	want := file(archive, wantFile)
	switch {
	case want != nil && bytes.Equal(want.Data, got):
		return nil
	case !o.Update:
		return diffError(name, data, want, got)
	case want == nil:
		archive.Files = append(archive.Files, txtar.File{Name: wantFile, Data: got})
	default:
		want.Data = got
	}
	return files.WriteBytes(name, txtar.Format(archive))
}

// file returns a file of the archive; nil for a missing file.
func file(a *txtar.Archive, name string) *txtar.File {
	for i := range a.Files {
		if a.Files[i].Name == name {
			return &a.Files[i]
		}
	}
	return nil
}

// diffError is an error that shows the lines in which a trace differs from the wanted one.
func diffError(name string, archive []byte, wantFile *txtar.File, gotText []byte) error {
	if wantFile == nil {
		return fmt.Errorf("%s: the story has no file want; it would be:\n%s", name, gotText)
	}
	want, got := lines(wantFile.Data), lines(gotText)
	first := 0
	for first < min(len(want), len(got)) && want[first] == got[first] {
		first++
	}
	last := 0
	for last < min(len(want), len(got))-first && want[len(want)-1-last] == got[len(got)-1-last] {
		last++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d: the trace differs (-want +got):\n", name, firstLine(archive, wantFile.Name)+first)
	hunk(&b, "  ", want[max(0, first-3):first])
	hunk(&b, "- ", want[first:len(want)-last])
	hunk(&b, "+ ", got[first:len(got)-last])
	hunk(&b, "  ", got[len(got)-last:len(got)-max(0, last-3)])
	return fmt.Errorf("%s", b.String())
}

func hunk(b *strings.Builder, mark string, lines []string) {
	for _, line := range lines {
		b.WriteString(mark + line + "\n")
	}
}

func lines(text []byte) []string {
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// firstLine is the line number, in the archive, of the first line of a file.
func firstLine(archive []byte, name string) int {
	before, _, _ := bytes.Cut(archive, []byte("\n-- "+name+" --"))
	return bytes.Count(before, []byte("\n")) + 3
}
