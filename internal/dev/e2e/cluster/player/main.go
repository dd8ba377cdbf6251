// Command player is stagecraft as a simulator: it plays Stage files on a cluster, manages all Nodes
// and renews their Leases, until it receives a signal. It collects garbage earlier than by default,
// unless GOGC is set.
//
//	player -kubeconfig FILE [-workers 16] [-pprof 127.0.0.1:6060] STAGES.yaml…
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	_ "net/http/pprof" // for -pprof
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/stagecraft-go/stagecraft/render"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/kube/nodes"
	"github.com/stagecraft-go/stagecraft/stage/player"
)

type options struct {
	kubeconfig string
	workers    int
	pprof      string
	profile    string
	stages     []string
}

func main() {
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "how to reach the cluster")
	flag.IntVar(&o.workers, "workers", 16, "requests under way at once")
	flag.StringVar(&o.pprof, "pprof", "", "address to serve net/http/pprof at")
	flag.StringVar(&o.profile, "cpuprofile", "", "file for a CPU profile of the whole life")
	flag.Parse()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(maxProcs)
	}
	o.stages = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "player:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.pprof != "" {
		go func() { fmt.Fprintln(os.Stderr, http.ListenAndServe(o.pprof, nil)) }()
	}
	if o.profile != "" {
		end, err := profile(o.profile)
		if err != nil {
			return err
		}
		defer end()
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return err
	}
	return play(ctx, config, o)
}

func profile(path string) (end func(), err error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return func() { pprof.StopCPUProfile(); _ = file.Close() }, pprof.StartCPUProfile(file)
}

// gcPercent is how much the heap may grow, in percent of the memory in use, before garbage is
// collected.
const gcPercent = 70

// maxProcs is enough: the player uses a fifth of a processor. With two (GOMAXPROCS=2 in the
// environment) it takes a sixth more CPU, because each request that goroutines pass on wakes the
// second processor.
const maxProcs = 1

func play(ctx context.Context, config *rest.Config, o options) error {
	set, err := compile(o.stages)
	if err != nil {
		return err
	}
	config.QPS = -1
	cluster, err := kube.NewForConfig(config)
	if err != nil {
		return err
	}
	holder, err := nodes.New(cluster, nodes.Options{Lease: nodes.Lease{Identity: "stagecraft"}})
	if err != nil {
		return err
	}
	player := player.New(set, cluster, player.Options{Seed: 1, Workers: o.workers, Trace: report, Filter: holder.Plays, Select: holder.Rules().Select()})
	go func() { _ = holder.Run(ctx, player.Refilter) }()
	return player.Run(ctx)
}

func compile(paths []string) (*stage.Set, error) {
	source, err := stage.Load(paths...)
	if err != nil {
		return nil, err
	}
	network := render.NewNetwork(render.NetworkOptions{Node: render.Node{IPs: []string{"127.0.0.1"}}})
	return stage.Compile(stage.Options{Env: network}, source)
}

// report prints errors.
func report(e stage.TraceEvent) {
	if e.Err != nil {
		fmt.Fprintln(os.Stderr, e)
	}
}
