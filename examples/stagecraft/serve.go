package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/manifests"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/backup"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A serving is the flags of serve.
type serving struct {
	output           *string
	bare             bool
	nodes            int
	speed            float64
	seed             uint64
	files, stages    []string
	backups          []string
	onlyStages       bool
	address, url     string
	kubeconfig       string
	untilStdinCloses bool
	serviceAccounts  bool
	containers       []string
	runCommands      bool
}

func serveCommand() *cobra.Command {
	var o serving
	c := &cobra.Command{
		Use:   "serve [-- COMMAND [ARG]...]",
		Short: "Serve a Kubernetes in memory to any client, on loopback",
		Long: `Serve a Kubernetes in memory to any client, on loopback, until Ctrl-C.

It prints export KUBECONFIG=FILE when the server answers. Behind the server is a
lab: nodes, a scheduler, the controllers of Kubernetes, and kubelets that do what
Pods say without running a container. With --bare nothing reacts, as with envtest.
Nothing is downloaded, and no other program is started.

With -- COMMAND the command runs with KUBECONFIG set, and serve ends with its
exit code. With -o json, one line of JSON is printed instead of export:
{"kubeconfig": FILE, "url": URL, "pid": PID}.`,
		Example: `  stagecraft serve
  stagecraft serve --load crds/ --load app.yaml --speed 60 -- ./e2e.sh
  stagecraft serve --bare --until-stdin-closes -o json      # for test harnesses
  stagecraft serve --stages stages/ --only-stages --nodes 0
  stagecraft serve --backup cluster.jsonl --speed 60        # what would that cluster do in the next hour?`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 && c.ArgsLenAtDash() != 0 {
				return usage("unexpected argument %q; a command follows --", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args) },
	}
	flags := c.Flags()
	flags.StringSliceVar(&o.files, "load", nil, "apply the objects of this `file` or folder first; may be repeated")
	flags.StringSliceVar(&o.backups, "backup", nil, "go on from the state of a cluster in this `file`, by stagecraft backup or kubectl get -o json; may be repeated")
	flags.StringSliceVar(&o.stages, "stages", nil, "play the Stages of this `file` or folder; may be repeated")
	flags.StringSliceVar(&o.containers, "containers", nil, "what containers print, answer and use, by the Logs, Exec, PortForward and other kinds of kwok in this `file`; may be repeated")
	flags.BoolVar(&o.runCommands, "run-commands", false, "with --containers: clients that exec into a Pod run their commands on this machine, as with kwok")
	flags.BoolVar(&o.onlyStages, "only-stages", false, "no kubelets, and no Stages of stagecraft for Nodes and Pods: --stages has them")
	flags.Float64Var(&o.speed, "speed", 1, "how many times as fast as that of the machine the time of the cluster passes; 60: an hour in a minute")
	flags.IntVar(&o.nodes, "nodes", 3, "how many nodes; with --backup: how many more (default 0)")
	flags.Uint64Var(&o.seed, "seed", 0, "the `number` from which uids, names and delays are drawn")
	flags.BoolVar(&o.bare, "bare", false, "an API server alone: no nodes, no controllers, no kubelets")
	flags.BoolVar(&o.serviceAccounts, "service-accounts", false, "give Pods their ServiceAccount and its token, as on a cluster")
	flags.StringVar(&o.address, "address", "127.0.0.1:0", "`address` to listen on; port 0: a free one")
	flags.StringVar(&o.url, "url", "", "the `URL` in the kubeconfig, for clients that reach the address by another name: https://localhost:6443 for a container")
	flags.StringVar(&o.kubeconfig, "kubeconfig-file", "", "write the kubeconfig to this `file`, and leave it there (default: a temporary one)")
	flags.BoolVar(&o.untilStdinCloses, "until-stdin-closes", false, "also end when standard input is closed, as it is when the parent ends")
	o.output = addOutput(c, "text", "json", "yaml")
	return c
}

// check refuses flags that cannot be combined.
func (o *serving) check() error {
	switch {
	case o.bare && (o.speed != 1 || len(o.stages) > 0 || o.onlyStages):
		return usage("--bare has nothing that takes time: it takes no --speed, --stages and --only-stages")
	case o.bare && len(o.containers) > 0:
		return usage("--bare has no containers: it takes no --containers")
	case o.bare && len(o.backups) > 0:
		return usage("--bare has nothing that goes on: it takes no --backup")
	case o.runCommands && len(o.containers) == 0:
		return usage("--run-commands: name the rules for commands by --containers")
	case !(o.speed > 0):
		return usage("--speed %v: want more than 0", o.speed)
	case o.nodes < 0:
		return usage("--nodes %d: want at least 0", o.nodes)
	case o.onlyStages && len(o.stages) == 0:
		return usage("--only-stages: name the Stages by --stages")
	}
	return nil
}

// run serves until ctx is done, standard input is closed, or the command ends.
func (o *serving) run(c *cobra.Command, command []string) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	objects, err := o.loaded(c.InOrStdin())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(c.Context())
	defer cancel(nil)
	state, err := readBackups(c.ErrOrStderr(), o.backups)
	if err != nil {
		return err
	}
	if state != nil && !c.Flags().Changed("nodes") {
		o.nodes = 0
	}
	cluster, live, err := o.cluster(state)
	if err != nil {
		return err
	}
	listener, err := apiserver.Listen(cluster, apiserver.ListenOptions{Address: o.address, Options: apiserver.Options{Bare: o.bare, ServiceAccounts: o.serviceAccounts}})
	if err != nil {
		return err
	}
	followed := make(chan error, 1)
	go func() {
		err := live(ctx)
		cancel(err)
		followed <- err
	}()
	defer func() {
		cancel(nil)
		err = errors.Join(err, <-followed, listener.Close())
	}()
	if err := applyAll(ctx, listener.Config(), objects); err != nil {
		return err
	}
	file, remove, err := o.write(listener)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if len(command) > 0 {
		return runWith(ctx, c, file, command)
	}
	if err := o.tell(c.OutOrStdout(), file, cmp.Or(o.url, listener.URL())); err != nil {
		return err
	}
	if o.untilStdinCloses {
		go func() {
			_, _ = io.Copy(io.Discard, c.InOrStdin()) // an input that cannot be read has no parent either
			cancel(nil)
		}()
	}
	<-ctx.Done()
	return nil
}

// loaded reads the objects of --load.
func (o *serving) loaded(stdin io.Reader) ([]manifests.Manifest, error) {
	if len(o.files) == 0 {
		return nil, nil
	}
	objects, err := readManifests(o.files, stdin, true)
	if err != nil {
		return nil, err
	}
	stages, err := readStages(slices.DeleteFunc(slices.Clone(o.files), func(name string) bool { return name == "-" }))
	return append(objects, stages...), err
}

// cluster makes the cluster, from a state or a new one, and the function that lets its time pass until a
// context is done.
func (o *serving) cluster(state *backup.Backup) (*memory.Cluster, func(context.Context) error, error) {
	if o.bare {
		cluster := memory.New(memory.Options{Seed: o.seed, RequireNamespaces: true, LateCollection: true})
		return cluster, func(ctx context.Context) error { <-ctx.Done(); return nil }, nil
	}
	var sources []stage.Source
	for _, name := range o.stages {
		source, err := stage.Load(name)
		if err != nil {
			return nil, nil, err
		}
		sources = append(sources, source)
	}
	if _, err := stage.Compile(stage.Options{}, sources...); err != nil { // before the lab does, whose error has other words around it
		return nil, nil, faultyInput{err}
	}
	rules, err := containersOf(o.containers, o.runCommands)
	if err != nil {
		return nil, nil, err
	}
	nodes := o.nodes
	if nodes == 0 {
		nodes = -1
	}
	t := &starting{}
	start := time.Now()
	if state != nil {
		start = state.Time // certificates and leases of that time are still valid, and nothing is overdue
	}
	lab := labtest.New(t, labtest.Options{Seed: o.seed, Nodes: nodes, Start: start, Backup: state, Stages: sources, OnlyStages: o.onlyStages, Containers: rules})
	if t.err != nil {
		return nil, nil, t.err
	}
	return lab.Cluster(), func(ctx context.Context) error { return lab.Simulation().Follow(ctx, o.speed) }, nil
}

// starting implements the testing interface that a lab needs. It keeps the first error.
type starting struct{ err error }

func (s *starting) Helper() {}

func (s *starting) Fatalf(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// write writes the kubeconfig. The returned function removes it, unless the user has chosen its name.
func (o *serving) write(l *apiserver.Listener) (file string, remove func() error, err error) {
	text, err := l.Kubeconfig()
	if err == nil && o.url != "" {
		text, err = withURL(text, o.url)
	}
	if err != nil {
		return "", nil, err
	}
	if o.kubeconfig != "" {
		return o.kubeconfig, func() error { return nil }, writePrivate(o.kubeconfig, text)
	}
	dir, err := os.MkdirTemp("", "stagecraft-")
	if err != nil {
		return "", nil, err
	}
	file = filepath.Join(dir, "kubeconfig")
	return file, func() error { return os.RemoveAll(dir) }, writePrivate(file, text)
}

// withURL returns a kubeconfig whose cluster has another URL.
func withURL(kubeconfig []byte, url string) ([]byte, error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, err
	}
	for _, cluster := range config.Clusters {
		cluster.Server = url
	}
	return clientcmd.Write(*config)
}

// writePrivate writes a file that only the user can read, at once and as a whole.
func writePrivate(name string, text []byte) error {
	temporary := name + ".new"
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, name)
}

// A served is what serve tells machines.
type served struct {
	Kubeconfig string `json:"kubeconfig"`
	URL        string `json:"url"`
	PID        int    `json:"pid"`
}

// tell says where the cluster is. The server answers already.
func (o *serving) tell(w io.Writer, file, url string) error {
	switch *o.output {
	case "json":
		return json.NewEncoder(w).Encode(served{file, url, os.Getpid()}) // one line
	case "yaml":
		return encode(w, "yaml", served{file, url, os.Getpid()})
	}
	_, err := fmt.Fprintf(w, "export KUBECONFIG=%s\n", quoted(file))
	return err
}

// quoted returns a word for a shell.
func quoted(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// runWith runs a command with the cluster. Its exit code becomes that of stagecraft.
func runWith(ctx context.Context, c *cobra.Command, file string, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() > 0 {
		return answer(ended.ExitCode())
	}
	return err
}
