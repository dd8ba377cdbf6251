// Rollout rehearses a staged rollout in memory and prints what happens, when, and in which cluster: a policy
// takes a Deployment from dev to prod, on one dev and two prod clusters.
//
//	go run ./examples/rollout           # KubeStellar
//	go run ./examples/rollout -update   # the same, and after two minutes another version
//	go run ./examples/rollout -ocm      # Open Cluster Management, with a bad version that goes back
//	go run ./examples/rollout -argo     # the same over Argo CD
//
// The command stagecraft rehearse takes policies, workloads and clusters from files.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/rehearse"
)

func main() {
	ocm := flag.Bool("ocm", false, "over Open Cluster Management")
	argo := flag.Bool("argo", false, "over Argo CD")
	update := flag.Bool("update", false, "with another version of the Deployment")
	flag.Parse()
	play := func(ctx context.Context, w io.Writer) error { return rehearseKubeStellar(ctx, *update, w) }
	if *ocm || *argo {
		play = func(ctx context.Context, w io.Writer) error { return playPort(ctx, *argo, w) }
	}
	if err := play(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: nginx, namespace: nginx, labels: {app: nginx}}, spec: {replicas: 1}}`

const another = `changes: [{after: 2m, apply: {apiVersion: apps/v1, kind: Deployment, metadata: {name: nginx, namespace: nginx}, spec: {replicas: 2}}}]`

// rehearseKubeStellar rehearses the policy. In each cluster the Deployment is available after ten seconds.
func rehearseKubeStellar(ctx context.Context, update bool, w io.Writer) error {
	source := staged.Parse("policy.yaml", []byte(portPolicy))
	if _, err := staged.Compile(staged.Options{}, source); err != nil {
		return err // all faults, each with file, line and column
	}
	available := "returned.status.availableReplicas"
	collector := control.StatusCollector{Spec: control.StatusCollectorSpec{CombinedFields: []control.NamedAggregator{{Name: "sum", Type: "SUM", Subject: &available}}}}
	collector.Name = "ready"
	in := rehearse.Input{
		Policy: source.Policies()[0], Objects: stage.Parse("deployment.yaml", []byte(deployment)).OtherObjects(),
		Collectors: []control.StatusCollector{collector}, Latency: 500 * time.Millisecond, Seed: 1, Explain: true,
	}
	for _, name := range []string{"dev1", "prod1", "prod2"} {
		in.Clusters = append(in.Clusters, rehearse.Cluster{Name: name, Labels: map[string]string{"name": name, "env": portClusters[name]["env"]},
			Script: []rehearse.Status{{Kind: "Deployment", Status: map[string]any{"availableReplicas": int64(0)}},
				{After: 10 * time.Second, Kind: "Deployment", Status: map[string]any{"availableReplicas": int64(1)}}}})
	}
	if update {
		script, err := rehearse.ParseScript([]byte(another))
		if err != nil {
			return err
		}
		in.Script = script
	}
	timeline, err := rehearse.Run(ctx, in)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, timeline)
	return err
}
