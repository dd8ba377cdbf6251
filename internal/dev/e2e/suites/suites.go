package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/stagecraft-go/stagecraft/internal/files"
)

// A suite is the integration tests of a module.
type suite struct {
	module, version string
	packages        []string // their directories
	skip            string   // a regular expression of Go tests that cannot run, or ""

	// generated are files that the Makefile of the module makes for its tests, by kustomize: directories
	// of kustomizations by the names of the files.
	generated map[string]string

	// nested are directories that are modules themselves, of the same version, whose replacements the
	// module requires: the directories by the modules. The module proxy leaves them out of the module.
	nested map[string]string
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
	"cluster-api": {
		module: "sigs.k8s.io/cluster-api", version: "v1.14.2",
		packages: []string{
			"internal/util/ssa/test", "util/patch/test", "core/webhooks/admission/test", "controllers/crdmigrator", "controllers/clustercache",
			"core/reconcilers/machineset", "core/reconcilers/clusterresourceset",
		},
		nested: map[string]string{"sigs.k8s.io/cluster-api/api": "api"},
	},
	"jobset": {
		module: "sigs.k8s.io/jobset", version: "v0.11.0",
		packages: []string{"test/integration/controller", "test/integration/webhook"},
	},
	"karpenter": {
		module: "sigs.k8s.io/karpenter", version: "v1.14.1",
		packages: []string{"pkg/apis/v1", "pkg/controllers/node/termination"},
	},
	"kueue": {
		module: "sigs.k8s.io/kueue", version: "v0.19.1",
		packages: []string{
			"test/integration/singlecluster/conversion", "test/integration/singlecluster/controller/core", "test/integration/singlecluster/webhook/core",
		},
		generated: map[string]string{"config/components/crd/_output/crds-with-webhooks.yaml": "config/components/crd"},
	},
	"lws": {
		module: "sigs.k8s.io/lws", version: "v0.9.0",
		packages: []string{"test/integration/controllers", "test/integration/webhooks"},
	},
}

func names() []string { return slices.Sorted(maps.Keys(suites)) }

// prepare returns a directory with the module of a suite in the user's cache, which tests may write
// to. It generates files with the kustomize of kubectl.
func prepare(ctx context.Context, s suite, kubectl string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "stagecraft", "suites", filepath.Base(s.module)+"@"+s.version)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), "part-")
	if err != nil {
		return "", err
	}
	err = copyModule(ctx, s.module, s.version, part)
	for module, at := range s.nested {
		err = errors.Join(err, copyModule(ctx, module, s.version, filepath.Join(part, at)))
	}
	if err == nil {
		err = generate(ctx, s, part, kubectl)
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(part))
	}
	return dir, os.Rename(part, dir)
}

// generate makes the generated files of a suite.
func generate(ctx context.Context, s suite, dir, kubectl string) error {
	for name, from := range s.generated {
		var stderr bytes.Buffer
		cmd := exec.CommandContext(ctx, kubectl, "kustomize", filepath.Join(dir, from))
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("generating %s: %w\n%s", name, err, stderr.Bytes())
		}
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := files.WriteBytes(file, out); err != nil {
			return err
		}
	}
	return nil
}

// copyModule copies a module into a directory.
func copyModule(ctx context.Context, module, version, to string) error {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module+"@"+version)
	cmd.Dir = os.TempDir() // no module's
	out, err := cmd.Output()
	var answer struct{ Dir, Error string }
	if e := json.Unmarshal(out, &answer); e != nil || answer.Error != "" {
		return fmt.Errorf("downloading %s@%s: %w %s", module, version, errors.Join(err, e), answer.Error)
	}
	return os.CopyFS(to, os.DirFS(answer.Dir))
}
