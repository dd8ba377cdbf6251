package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestVersionIsTheRequiredOne(t *testing.T) {
	for _, mod := range []string{"module m\n\nrequire (\n\tsigs.k8s.io/kwok v1.2.3 // indirect\n)\n", "module m\n\nrequire sigs.k8s.io/kwok v1.2.3\n"} {
		if got, err := required(mod); err != nil || got != "v1.2.3" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	if _, err := required("module m\n\nreplace sigs.k8s.io/kwok => sigs.k8s.io/kwok v1.2.3\n"); err == nil {
		t.Fatal("a go.mod without the requirement was accepted")
	}
}

func TestFindBuildsNothing(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	if dir, err := run(true); err == nil {
		t.Fatalf("found kwok in %s", dir)
	}
	if left, _ := os.ReadDir(cache); len(left) > 0 {
		t.Fatalf("wrote %v", left)
	}
}

func TestWhatIsFoundIsNotBuilt(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	version, err := required(goMod)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(root, "stagecraft", "kwokbin", version+"-"+key())
	if err := os.MkdirAll(want, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(want, "kwok"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	got, err := run(false)
	if err != nil || got != want {
		t.Fatalf("got %q, %v; want %q", got, err, want)
	}
}
