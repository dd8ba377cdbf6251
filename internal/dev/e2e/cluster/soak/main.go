// Command soak runs stagecraft on a real API server for a long time, at the highest rate that the
// machine allows. It fails if the heap, the number of goroutines, the resident memory or the time
// until pods run grow.
//
//	go run ./soak [-duration 30m] [-every 30s] [-lives 25] [-workers 16] [-keep DIR]
//
// -lives is the number of pods at any time. Each pod is created and runs. Half of the pods belong
// to a Job and complete. Then each pod is deleted with a grace period of 30 seconds, and another
// pod replaces it. The player is a separate process, measured by net/http/pprof.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/cluster/measure"
	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/cluster/podcreator"
	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
)

type options struct {
	duration, every time.Duration
	lives, workers  int
	keep            string
}

func main() {
	log.SetLogger(logr.Discard()) // the output of envtest
	var o options
	flag.DurationVar(&o.duration, "duration", 30*time.Minute, "how long pods come and go")
	flag.DurationVar(&o.every, "every", 30*time.Second, "time between two samples")
	flag.IntVar(&o.lives, "lives", 25, "pods at the same time")
	flag.IntVar(&o.workers, "workers", 16, "requests of the player under way at once")
	flag.StringVar(&o.keep, "keep", "", "directory where the log of the player stays (default: it does not)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	assets, err := controlplane.Assets("../../kubebin", os.Stderr)
	if err != nil {
		return err
	}
	plane, err := controlplane.Start(assets)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	if o.keep == "" {
		o.keep = filepath.Dir(plane.Kubeconfig()) // goes with the control plane
	} else if err := os.MkdirAll(o.keep, 0o755); err != nil {
		return err
	}
	player, pprof, err := startPlayer(o, plane.Kubeconfig())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, player.Stop()) }()
	samples, err := soak(ctx, o, plane, monitor{player, pprof})
	if err != nil {
		return err
	}
	return checkGrowth(os.Stdout, samples)
}

var stages = []string{"../../../../stage/presets/node-fast.yaml", "../../../../stage/presets/pod-fast.yaml"}

// startPlayer builds and starts the player, and returns the address of its pprof.
func startPlayer(o options, kubeconfig string) (*measure.Process, string, error) {
	path := filepath.Join(filepath.Dir(kubeconfig), "player")
	build := exec.Command("go", "build", "-trimpath", "-o", path, "./player")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, "", fmt.Errorf("building the player: %w", err)
	}
	address, err := freeAddress()
	if err != nil {
		return nil, "", err
	}
	args := append([]string{"-kubeconfig", kubeconfig, "-workers", fmt.Sprint(o.workers), "-pprof", address}, stages...)
	p, err := measure.Start(filepath.Join(o.keep, "player.log"), path, args...)
	return p, address, err
}

// freeAddress returns an unused address on loopback.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// soak creates and deletes pods, and takes samples meanwhile.
func soak(ctx context.Context, o options, plane *controlplane.Plane, p monitor) ([]sample, error) {
	client, err := podcreator.NewClient(plane.Config())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	c, err := newChurn(ctx, client, o.lives)
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.run(ctx) }()
	var samples []sample
	fmt.Println(header)
	for tick := time.NewTicker(o.every); ; {
		select {
		case err := <-ended:
			if errors.Is(err, context.DeadlineExceeded) { // time is over
				err = nil
			}
			return samples, err
		case <-tick.C:
			s, err := p.sample(c.takeStats())
			if err != nil {
				return samples, err
			}
			fmt.Println(s)
			samples = append(samples, s)
		}
	}
}
