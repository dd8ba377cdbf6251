package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// A suite is the integration tests of a module.
type suite struct {
	module, version string
	packages        []string // their directories
	skip            string   // a regular expression of Go tests that cannot run, or ""
}

var suites = map[string]suite{
	"controller-runtime": {
		module: "sigs.k8s.io/controller-runtime", version: "v0.23.3",
		packages: []string{
			"pkg/builder", "pkg/cache", "pkg/client", "pkg/client/apiutil", "pkg/cluster", "pkg/controller", "pkg/controller/controllerutil",
			"pkg/handler", "pkg/internal/controller", "pkg/internal/recorder", "pkg/manager", "pkg/manager/internal/integration",
			"pkg/metrics/filters", "pkg/reconcile", "pkg/source", "pkg/webhook",
		},
		skip: "Discovery=false", // kube-apiserver 1.36 no longer has the feature gate AggregatedDiscoveryEndpoint, and does not start with it
	},
	"jobset": {
		module: "sigs.k8s.io/jobset", version: "v0.11.0",
		packages: []string{"test/integration/controller", "test/integration/webhook"},
	},
	"lws": {
		module: "sigs.k8s.io/lws", version: "v0.9.0",
		packages: []string{"test/integration/controllers", "test/integration/webhooks"},
	},
}

func names() []string { return slices.Sorted(maps.Keys(suites)) }

// prepare returns a directory with the module of a suite in the user's cache, which tests may write
// to.
func prepare(ctx context.Context, s suite) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "stagecraft", "suites", filepath.Base(s.module)+"@"+s.version)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	from, err := download(ctx, s)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), "part-")
	if err != nil {
		return "", err
	}
	if err := os.CopyFS(part, os.DirFS(from)); err != nil {
		return "", errors.Join(err, os.RemoveAll(part))
	}
	return dir, os.Rename(part, dir)
}

// download returns the directory of a module in the cache of modules.
func download(ctx context.Context, s suite) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", s.module+"@"+s.version)
	cmd.Dir = os.TempDir() // no module's
	out, err := cmd.Output()
	var answer struct{ Dir, Error string }
	if e := json.Unmarshal(out, &answer); e != nil || answer.Error != "" {
		return "", fmt.Errorf("downloading %s@%s: %w %s", s.module, s.version, errors.Join(err, e), answer.Error)
	}
	return answer.Dir, nil
}
