package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/kube/stages"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

var (
	//go:embed manifests/node.yaml
	nodeYAML string
	//go:embed manifests/namespace.yaml
	namespaceYAML string
	//go:embed manifests/workload.yaml
	workloadYAML string
)

// Everything that the demo makes has this label, so that it finds its own again.
const (
	label = "stagecraft-demo"
	ours  = label + "=true"
)

// What the demo waits for.
var (
	stageKind = wait.Ref{Kind: schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, Name: "stages.kwok.x-k8s.io"}
	workload  = []wait.Ref{
		{Kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "stagecraft-demo", Name: "web"},
		{Kind: schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, Namespace: "stagecraft-demo", Name: "nomcadkwok-cpu-job-short-0"},
	}
)

// rules take a Job for ready when it is complete.
var rules = kstatus.Standard().WaitForJobs(true)

// A demo has the actions of a user on a cluster, and of stagecraft there.
type demo struct {
	kubectl kubectl
	config  *rest.Config
	cluster *kube.Cluster
	nodes   int
	out     *lines
	trace   func(stage.TraceEvent) // of the player
	made    [][]string             // the arguments for kubectl delete
}

func newDemo(p *plane, nodes int, out io.Writer) (*demo, error) {
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // the server limits its clients
	cluster, err := kube.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	shared := &lines{out: out}
	return &demo{kubectl: kubectl{program: p.kubectl, kubeconfig: p.kubeconfig, out: shared}, config: config, cluster: cluster, nodes: nodes, out: shared, trace: func(stage.TraceEvent) {}}, nil
}

// run shows the demo and removes the objects that it created, also when ctx ends it.
func (d *demo) run(ctx context.Context) error {
	err := d.define(ctx)
	if err == nil {
		err = d.live(ctx)
	}
	return errors.Join(err, d.clean())
}

// define makes Stages a kind of the cluster, unless the cluster has the kind.
func (d *demo) define(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	_, err := d.cluster.Get(ctx, stageKind.Kind, types.NamespacedName{Name: stageKind.Name})
	if apierrors.IsNotFound(err) {
		d.made = append(d.made, []string{"customresourcedefinition", stageKind.Name})
		err = d.kubectl.create(ctx, stages.Definition())
	}
	if err != nil {
		return err
	}
	return d.wait(ctx, time.Minute, stageKind)
}

// live plays while the Nodes and the workload come and go.
func (d *demo) live(ctx context.Context) error {
	playing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var ended error
	var player sync.WaitGroup
	player.Go(func() { ended = d.play(playing) })
	err := errors.Join(d.present(ctx), d.clean()) // someone has to end the Pods
	stop()
	player.Wait()
	return errors.Join(err, ended)
}

// play plays the Stages.
func (d *demo) play(ctx context.Context) error { return play(ctx, d.config, d.tell, d.trace) }

// present creates the Stages, the Nodes and the workload, and waits for it.
func (d *demo) present(ctx context.Context) error {
	all, err := stageManifest(presets.NodeFast(), presets.NodeHeartbeatWithLease(), presets.PodGeneral())
	if err != nil {
		return err
	}
	for _, part := range []struct{ kind, manifest string }{
		{"stages.kwok.x-k8s.io", all},
		{"nodes", d.nodeManifest()},
		{"namespaces", namespaceYAML},
		{"", workloadYAML}, // goes with its namespace
	} {
		if err := d.create(ctx, part.kind, part.manifest); err != nil {
			return err
		}
	}
	err = d.watchPods(ctx, func() error { return d.wait(ctx, 2*time.Minute, workload...) })
	return errors.Join(err, d.kubectl.run(ctx, "", "get", "nodes,deployments,jobs,pods", "-n", "stagecraft-demo"))
}

// create creates the objects of a manifest, and remembers to remove the objects of a kind, even if
// only some could be created.
func (d *demo) create(ctx context.Context, kind, manifest string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if kind != "" {
		d.made = append(d.made, []string{kind, "--selector", ours})
	}
	return d.kubectl.create(ctx, manifest)
}

// watchPods shows the states of the Pods while f runs.
func (d *demo) watchPods(ctx context.Context, f func() error) error {
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { _ = d.kubectl.run(watching, "", "get", "pods", "-n", "stagecraft-demo", "-w") })
	err := f()
	stop()
	watch.Wait()
	return err
}

// clean removes the created objects, the last ones first.
func (d *demo) clean() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var errs []error
	for _, what := range slices.Backward(d.made) {
		errs = append(errs, d.kubectl.remove(ctx, what...))
	}
	d.made = nil
	return errors.Join(errs...)
}

// wait waits until objects are ready.
func (d *demo) wait(ctx context.Context, timeout time.Duration, refs ...wait.Ref) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return wait.For(ctx, d.cluster, refs, wait.Policy{Options: wait.Options{Rules: rules}, Report: wait.NewReporter(d.out)})
}

// tell prints a failure. The failed request is tried again.
func (d *demo) tell(err error) { fmt.Fprintf(d.out, "# trying again: %q\n", err.Error()) }

// nodeManifest is all Nodes.
func (d *demo) nodeManifest() string {
	var all strings.Builder
	for i := range d.nodes {
		fmt.Fprintf(&all, nodeYAML, i)
	}
	return all.String()
}

// stageManifest is the Stages of sources as objects for kubectl.
func stageManifest(sources ...stage.Source) (string, error) {
	var all strings.Builder
	for _, source := range sources {
		for _, s := range source.Stages() {
			s.Labels = map[string]string{label: "true"}
			text, err := yaml.Marshal(s)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&all, "---\n%s", text)
		}
	}
	return all.String(), nil
}

// lines is output that several may write to.
type lines struct {
	mutex sync.Mutex
	out   io.Writer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.out.Write(p)
}
