// Command figures compares stage/lab/apiserver with etcd and kube-apiserver, in one run: CPU of the
// servers per request, watchers, and memory. The server in memory is a separate process.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"time"

	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

func main() {
	var o options
	serves := flag.Bool("serve", false, "be the server in memory")
	flag.IntVar(&o.requests, "requests", 4000, "requests of each kind")
	flag.IntVar(&o.clients, "clients", 16, "clients that send them at once")
	flag.IntVar(&o.pods, "pods", 10000, "Pods that are watched")
	flag.IntVar(&o.watchers, "watchers", 1000, "watchers of all of them")
	flag.Parse()
	err := error(nil)
	if *serves {
		err = serve()
	} else {
		err = run(context.Background(), o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

type options struct{ requests, clients, pods, watchers int }

// A server is a measured server.
type server struct {
	name      string
	config    *rest.Config
	processes []int
}

func run(ctx context.Context, o options) error {
	assets, err := controlplane.Assets("../../kubebin", os.Stderr)
	if err != nil {
		return err
	}
	plane, err := controlplane.Start(assets)
	if err != nil {
		return err
	}
	defer plane.Stop()
	theirs := server{"etcd and kube-apiserver", plane.Config(), nil}
	if theirs.processes, err = descendants("etcd", "kube-apiserver"); err != nil {
		return err
	}
	ours, stop, err := inMemory()
	if err != nil {
		return err
	}
	defer stop()
	if err := idle(ours, theirs); err != nil {
		return err
	}
	if err := requests(ctx, o, ours, theirs); err != nil {
		return err
	}
	return watches(ctx, o, ours, theirs)
}

// inMemory starts this program again, as the server.
func inMemory() (s server, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return s, nil, err
	}
	cmd := exec.Command(self, "-serve")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return s, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return s, nil, err
	}
	if err := cmd.Start(); err != nil {
		return s, nil, err
	}
	var access access
	if err := json.NewDecoder(out).Decode(&access); err != nil {
		return s, nil, err
	}
	config := &rest.Config{Host: access.Host, BearerToken: access.Token, TLSClientConfig: rest.TLSClientConfig{CAData: access.CA}, QPS: -1}
	return server{"stage/lab/apiserver", config, []int{cmd.Process.Pid}}, func() { in.Close(); _ = cmd.Wait() }, nil
}

// access is how a client reaches the server in memory.
type access struct {
	Host, Token string
	CA          []byte
}

// serve is the server in memory, until its standard input ends.
func serve() error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200) // as examples/cluster
	}
	l, err := apiserver.Listen(memory.New(memory.Options{RequireNamespaces: true}), apiserver.ListenOptions{})
	if err != nil {
		return err
	}
	c := l.Config()
	if err := json.NewEncoder(os.Stdout).Encode(access{c.Host, c.BearerToken, c.CAData}); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, l.Close())
}

// idle prints the memory of servers without clients.
func idle(servers ...server) error {
	time.Sleep(5 * time.Second)
	for _, s := range servers {
		bytes, err := s.memory()
		if err != nil {
			return err
		}
		fmt.Printf("idle: %s %d MiB\n", s.name, bytes>>20)
	}
	return nil
}
