// Assets makes a directory for KUBEBUILDER_ASSETS, whose etcd and kube-apiserver are a Kubernetes in
// memory: envtest of controller-runtime starts them instead of the real ones.
//
//	go run github.com/stagecraft-go/stagecraft/stage/lab/envtest/assets@latest ./assets
//	KUBEBUILDER_ASSETS=$PWD/assets go test ./...
//
// The programs in the directory are copies of this one.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/stagecraft-go/stagecraft/stage/lab/envtest"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200) // an API server in memory answers with a fifth less CPU
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if envtest.IsProgram(args[0]) {
		return envtest.Run(ctx, args, stdout, stderr)
	}
	if len(args) != 2 || args[1] == "" || args[1][0] == '-' {
		fmt.Fprintln(stderr, "usage: assets DIR makes DIR for KUBEBUILDER_ASSETS")
		return 2
	}
	hasKubectl, err := envtest.Install(args[1])
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	dir, err := filepath.Abs(args[1])
	if err != nil {
		dir = args[1]
	}
	fmt.Fprintf(stdout, "export KUBEBUILDER_ASSETS=%s\n", dir)
	if !hasKubectl {
		fmt.Fprintln(stderr, "no kubectl in the PATH: tests that call ControlPlane.KubeCtl need one in that directory")
	}
	return 0
}
