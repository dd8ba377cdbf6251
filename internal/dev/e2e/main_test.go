package e2e_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
	"github.com/stagecraft-go/stagecraft/stage/kube"
)

// plane is the control plane of all tests. Each test has its own namespaces.
var plane *controlplane.Plane

func TestMain(m *testing.M) {
	if as := os.Getenv(playerEnv); as != "" {
		if err := runPlayer(as); err != nil {
			fmt.Fprintln(os.Stderr, "player:", err)
			os.Exit(1)
		}
		return
	}
	log.SetLogger(logr.Discard()) // the output of envtest
	os.Exit(run(m))
}

func run(m *testing.M) int {
	assets, err := controlplane.Assets("../kubebin", os.Stderr)
	if errors.Is(err, controlplane.ErrNoAssets) {
		fmt.Println("e2e: all tests skipped:", err)
		return 0
	}
	if err == nil {
		plane, err = controlplane.Start(assets)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	if err := parallelTests(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	code := m.Run()
	if err := plane.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	return code
}

// parallelTests lets tests also run in parallel on a small machine, because they wait most of the
// time.
func parallelTests() error {
	flag.Parse()
	return flag.Set("test.parallel", "8")
}

func newCluster(t testing.TB) *kube.Cluster {
	t.Helper()
	return clusterOf(t, plane)
}

func clusterOf(t testing.TB, p *controlplane.Plane) *kube.Cluster {
	t.Helper()
	c, err := kube.NewForConfig(p.Config())
	require.NoError(t, err)
	return c
}

// startControllers starts kube-controller-manager and kube-scheduler of a control plane for the time of a test.
// Directories of setup-envtest do not have them: the test is skipped.
func startControllers(t *testing.T, p *controlplane.Plane) {
	t.Helper()
	c, err := p.StartControllers()
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("no controllers beside kube-apiserver:", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop()) })
}
