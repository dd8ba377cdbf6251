package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
	"github.com/stagecraft-go/stagecraft/stage/kube/stages"
)

// TestDemo runs the demo as a user does. It is skipped where no control plane has been built,
// unless STAGECRAFT_E2E is 1.
func TestDemo(t *testing.T) {
	if _, err := controlplane.Assets("../../internal/dev/kubebin", os.Stderr); errors.Is(err, controlplane.ErrNoAssets) {
		t.Skip(err)
	}
	var out, failed bytes.Buffer
	require.Equal(t, 0, run(t.Context(), []string{"-nodes", "2"}, &out, &failed), "%s\n%s", &out, &failed)
	for _, want := range []string{
		`(?m)^web-\S+ +1/1 +Running `,
		`(?m)^nomcadkwok-cpu-job-short-0-\S+ +0/1 +ContainerCreating `,
		`(?m)^nomcadkwok-cpu-job-short-0-\S+ +0/1 +Completed `,
		`(?m)^node/stagecraft-demo-1 +Ready `,
		`(?m)^deployment.apps/web +3/3 `,
		`(?m)^job.batch/nomcadkwok-cpu-job-short-0 +Complete +1/1 `,
		`namespace "stagecraft-demo" deleted`,
		`node "stagecraft-demo-1" deleted`,
		`stage.kwok.x-k8s.io "pod-ready" deleted`,
		`"stages.kwok.x-k8s.io" deleted`,
	} {
		require.Regexp(t, want, out.String())
	}
	for line := range strings.Lines(out.String()) { // a kube-apiserver can say so about a kind that it has served for an instant
		require.False(t, strings.Contains(line, "trying again") && !strings.Contains(line, "too old resource version"), line)
	}
}

// TestAClusterWithStages has a cluster with Stages and a Node of its user: they are left unchanged.
func TestAClusterWithStages(t *testing.T) {
	assets, err := controlplane.Assets("../../internal/dev/kubebin", os.Stderr)
	if errors.Is(err, controlplane.ErrNoAssets) {
		t.Skip(err)
	}
	require.NoError(t, err)
	plane, err := controlplane.Start(assets)
	require.NoError(t, err)
	defer func() { require.NoError(t, plane.Stop()) }()
	controllers, err := plane.StartControllers()
	require.NoError(t, err)
	defer func() { require.NoError(t, controllers.Stop()) }()
	t.Setenv("PATH", assets+string(os.PathListSeparator)+os.Getenv("PATH"))

	var seen bytes.Buffer
	user := kubectl{program: "kubectl", kubeconfig: plane.Kubeconfig(), out: &seen}
	require.NoError(t, user.create(t.Context(), stages.Definition()))
	require.NoError(t, user.run(t.Context(), "", "wait", "--for", "condition=Established", "crd/stages.kwok.x-k8s.io"))
	require.NoError(t, user.create(t.Context(), `{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: mine},
  spec: {resourceRef: {apiGroup: v1, kind: ConfigMap},
  selector: {}, steps: [{patch: {root: data, template: "touched: 'true'"}}]}}`))
	require.NoError(t, user.create(t.Context(), `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: mine}}`))
	require.NoError(t, user.create(t.Context(), `{apiVersion: v1, kind: Node, metadata: {name: stagecraft-demo-1}}`))

	var out, failed bytes.Buffer
	require.Equal(t, 1, run(t.Context(), []string{"-kubeconfig", plane.Kubeconfig()}, &out, &failed), "%s", &out)
	require.Contains(t, out.String(), `nodes "stagecraft-demo-1" already exists`)
	seen.Reset()
	require.NoError(t, user.run(t.Context(), "", "delete", "node", "stagecraft-demo-1"))
	out.Reset()
	require.Equal(t, 0, run(t.Context(), []string{"-kubeconfig", plane.Kubeconfig()}, &out, &failed), "%s", &out)
	seen.Reset()
	require.NoError(t, user.run(t.Context(), "", "get", "stages,nodes", "-o", "name"))
	require.Equal(t, "$ kubectl get stages,nodes -o name\nstage.kwok.x-k8s.io/mine\n", seen.String())
	seen.Reset()
	require.NoError(t, user.run(t.Context(), "", "get", "configmap", "mine", "-o", "yaml"))
	require.NotContains(t, seen.String(), "touched")
}

// TestInterrupted interrupts the demo before it has a control plane: the started processes are
// stopped.
func TestInterrupted(t *testing.T) {
	if _, err := controlplane.Assets("../../internal/dev/kubebin", os.Stderr); errors.Is(err, controlplane.ErrNoAssets) {
		t.Skip(err)
	}
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	ctx, interrupt := context.WithCancelCause(t.Context())
	interrupt(errors.New("enough"))
	var out, failed bytes.Buffer
	require.Equal(t, 1, run(ctx, nil, &out, &failed))
	require.Contains(t, failed.String(), "\nenough\n")
	require.Empty(t, out.String(), "no kubectl was run")
	left, err := filepath.Glob(filepath.Join(temporary, "stagecraft-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestFlags(t *testing.T) {
	for name, args := range map[string][]string{
		"no nodes":      {"-nodes", "0"},
		"an argument":   {"kubeconfig"},
		"unknown flag":  {"-nothing", "2"},
		"not a number":  {"-nodes", "many"},
		"missing value": {"-kubeconfig"},
	} {
		var failed bytes.Buffer
		require.Equal(t, 2, run(t.Context(), args, io.Discard, &failed), name)
		require.NotEmpty(t, failed.String(), name)
	}
	require.Equal(t, 0, run(t.Context(), []string{"-help"}, io.Discard, io.Discard))
}

func TestAKubeconfigThatIsNone(t *testing.T) {
	var failed bytes.Buffer
	require.Equal(t, 1, run(t.Context(), []string{"-kubeconfig", "no-such-file"}, io.Discard, &failed))
	require.Contains(t, failed.String(), "no-such-file")
}
