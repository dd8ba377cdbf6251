package main

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

var presetSources = map[string]func() stage.Source{
	"node-fast": presets.NodeFast, "node-heartbeat": presets.NodeHeartbeat, "node-heartbeat-with-lease": presets.NodeHeartbeatWithLease,
	"node-chaos": presets.NodeChaos, "pod-fast": presets.PodFast, "pod-general": presets.PodGeneral, "pod-chaos": presets.PodChaos, "volumes": presets.Volumes,
}

func presetNames() []string { return slices.Sorted(maps.Keys(presetSources)) }

// input is what was read.
type input struct {
	sources []stage.Source
	objects []*unstructured.Unstructured
}

// read reads all files. Objects come from those of -object, or else from beside the Stages.
func read(o options) (in input, err error) {
	for _, name := range o.presets {
		in.sources = append(in.sources, presetSources[name]())
	}
	for _, file := range o.stages {
		source, err := stage.Load(file)
		if err != nil {
			return in, err
		}
		in.sources = append(in.sources, source)
		if len(o.objects) == 0 {
			in.objects = append(in.objects, source.Others()...)
		}
	}
	for _, file := range o.objects {
		source, err := stage.Load(file)
		if err != nil {
			return in, err
		}
		if faults := source.Errors(); len(faults) > 0 {
			return in, faults
		}
		in.objects = append(in.objects, source.Others()...)
	}
	if len(o.objects) > 0 && len(in.objects) == 0 {
		return in, fmt.Errorf("%v: no objects", o.objects)
	}
	return in, nil
}

// stages are those of all sources.
func (in input) stages() (stages []v1alpha1.Stage) {
	for _, s := range in.sources {
		stages = append(stages, s.Stages()...)
	}
	return stages
}

// kinds are those of the Stages and the objects.
func (in input) kinds() (kinds []schema.GroupVersionKind) {
	for _, st := range in.stages() {
		ref := st.Spec.ResourceRef
		kinds = append(kinds, schema.FromAPIVersionAndKind(ref.APIGroup, ref.Kind))
	}
	for _, obj := range in.objects {
		kinds = append(kinds, obj.GroupVersionKind())
	}
	return kinds
}
