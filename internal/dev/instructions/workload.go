package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// A workload is fixed work that can be repeated.
type workload struct {
	name  string
	times int // enough to make the noise of a run small in comparison
	run   func(ctx context.Context, times int) error
}

var workloads = []workload{
	{"kstatus", 10_000, runKstatus},
	{"life", 200, runLife},
	{"next", 5_000, runNext},
	{"effects", 500, runEffects},
}

// start is the current time in all workloads.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func runWorkload(ctx context.Context, name string, times int) error {
	i := slices.IndexFunc(workloads, func(w workload) bool { return w.name == name })
	if i < 0 {
		return fmt.Errorf("no workload is called %q", name)
	}
	return workloads[i].run(ctx, times)
}

// runKstatus computes the status of a Pod, a Deployment and a ConfigMap that are Current. Every map
// has a random seed that influences the cost of look-ups, so it uses the mean of many copies.
func runKstatus(_ context.Context, times int) error {
	var copies [64][]*unstructured.Unstructured
	for i := range copies {
		objects, err := objects(runningPod, deployment, configMap)
		if err != nil {
			return err
		}
		copies[i] = objects
	}
	for i := range times {
		for _, obj := range copies[i%len(copies)] {
			if r := kstatus.Standard().Compute(obj, start); r.Status != kstatus.Current {
				return fmt.Errorf("%s: %s", obj.GetKind(), r)
			}
		}
	}
	return nil
}

// runNext decides which Stage of PodGeneral is next for a running Pod of a Job: the last one that
// is checked.
func runNext(_ context.Context, times int) error {
	set, obj, err := generalStages(runningPod)
	if err != nil {
		return err
	}
	for range times {
		if t, ok := set.Next(obj, start, 1, 0); !ok || t.Stage != "pod-complete" {
			return fmt.Errorf("next is %q", t.Stage)
		}
	}
	return nil
}

// runEffects decides about a new Pod, and renders the requests of pod-ready.
func runEffects(_ context.Context, times int) error {
	set, obj, err := generalStages(pendingPod)
	if err != nil {
		return err
	}
	for range times {
		if err := renderReady(set, obj); err != nil {
			return err
		}
	}
	return nil
}

func renderReady(set *stage.Set, obj *unstructured.Unstructured) error {
	t, _ := set.Next(obj, start, 1, 0)
	made, err := t.Effects(obj, start)
	if err != nil {
		return err
	}
	size := 0
	for _, e := range made {
		if p, ok := e.(stage.Patch); ok {
			size += len(p.JSON())
		}
	}
	if t.Stage != "pod-ready" || size == 0 {
		return fmt.Errorf("%q sends %d bytes", t.Stage, size)
	}
	return nil
}

// runLife takes Pods of a Job through pod-create, pod-ready and pod-complete on an in-memory
// cluster.
func runLife(ctx context.Context, times int) error {
	set, pod, err := generalStages(newPod)
	if err != nil {
		return err
	}
	played := 0
	sim, err := simulation.New(set, simulation.Options{Trace: func(e stage.TraceEvent) {
		if e.Kind == stage.TracePlayed {
			played++
		}
	}})
	if err != nil {
		return err
	}
	for i := range times {
		pod.SetName(fmt.Sprintf("pod-%d", i))
		if _, err := sim.Cluster().Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	settled, err := sim.Settle(ctx, time.Hour)
	if err == nil && (!settled || played != 3*times) {
		err = fmt.Errorf("%d pods made %d transitions", times, played)
	}
	return err
}

// generalStages compiles PodGeneral and reads an object for it.
func generalStages(text string) (*stage.Set, *unstructured.Unstructured, error) {
	set, err := stage.Compile(stage.Options{}, presets.PodGeneral())
	if err != nil {
		return nil, nil, err
	}
	objects, err := objects(text)
	if err != nil {
		return nil, nil, err
	}
	return set, objects[0], nil
}

// objects reads objects as an API client does: integers are int64.
func objects(texts ...string) (all []*unstructured.Unstructured, err error) {
	for _, text := range texts {
		data, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			return nil, err
		}
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(data); err != nil {
			return nil, err
		}
		all = append(all, obj)
	}
	return all, nil
}
