package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVersionIsTheRequiredOne(t *testing.T) {
	got, err := kubernetesVersion("module m\n\nrequire (\n\tk8s.io/kubectl v0.0.0 // indirect\n\tk8s.io/kubernetes v1.2.3 // indirect\n)\n")
	if err != nil || got != "v1.2.3" {
		t.Fatalf("got %q, %v", got, err)
	}
	if _, err := kubernetesVersion("module m\n\nreplace k8s.io/kubernetes => k8s.io/kubernetes v1.2.3\n"); err == nil {
		t.Fatal("a go.mod without the requirement was accepted")
	}
}

func TestFindBuildsNothing(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	if dir, err := run(true, []string{"etcd"}); err == nil {
		t.Fatalf("found etcd in %s", dir)
	}
	if left, _ := os.ReadDir(cache); len(left) > 0 {
		t.Fatalf("wrote %v", left)
	}
}

func TestFoundProgramsAreNotBuilt(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	root, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(root, "stagecraft", "kubebin", "v1.36.3-"+key())
	if err := os.MkdirAll(want, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(want, "etcd"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	got, err := run(false, []string{"etcd"})
	if err != nil || got != want {
		t.Fatalf("got %q, %v; want %q", got, err, want)
	}
}

func TestTestsAreBuiltOnlyIfTheyAreNamed(t *testing.T) {
	p := program{name: "e2e.test"}
	if p.asked(nil) || !p.asked([]string{"etcd", "e2e.test"}) || !(program{name: "etcd"}).asked(nil) {
		t.Fatal("without names all programs but e2e.test are meant")
	}
}

func TestUnknownProgramsAreRefused(t *testing.T) {
	if _, err := run(true, []string{"kubelet"}); err == nil || !strings.Contains(err.Error(), `"kubelet"`) {
		t.Fatalf("got %v", err)
	}
}
