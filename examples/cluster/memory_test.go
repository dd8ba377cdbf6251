package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage/kube"
)

// TestMemory uses the cluster in memory like a shell: it reads the path of the kubeconfig, and
// waits for a Deployment, in fast time.
func TestMemory(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	read, write := io.Pipe()
	var failed bytes.Buffer
	code := make(chan int)
	go func() { code <- run(ctx, []string{"-memory", "-speed", "1000"}, write, &failed) }()
	line, err := bufio.NewReader(read).ReadString('\n')
	require.NoError(t, err)
	file, found := strings.CutPrefix(strings.TrimSpace(line), "export KUBECONFIG=")
	require.True(t, found, line)
	config, err := clientcmd.BuildConfigFromFlags("", file)
	require.NoError(t, err)
	config.QPS = -1
	cluster, err := kube.NewForConfig(config)
	require.NoError(t, err)

	manifest := `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: default, name: web}, spec: {replicas: 3, selector: {matchLabels: {a: b}},
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`
	var obj unstructured.Unstructured
	require.NoError(t, yaml.Unmarshal([]byte(manifest), &obj.Object))
	_, err = cluster.Create(t.Context(), &obj, metav1.CreateOptions{})
	require.NoError(t, err)
	waiting, stop := context.WithTimeout(t.Context(), 5*time.Minute) // of the machine
	defer stop()
	ref := wait.Ref{Kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "default", Name: "web"}
	require.NoError(t, wait.For(waiting, cluster, []wait.Ref{ref}, wait.Policy{}))

	interrupt()
	require.Equal(t, 0, <-code, failed.String())
	_, err = os.Stat(file)
	require.ErrorIs(t, err, os.ErrNotExist)
}
