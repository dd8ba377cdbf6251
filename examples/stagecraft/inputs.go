package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

var presetSources = map[string]func() stage.Source{
	"node-fast":                 presets.NodeFast,
	"node-heartbeat":            presets.NodeHeartbeat,
	"node-heartbeat-with-lease": presets.NodeHeartbeatWithLease,
	"node-chaos":                presets.NodeChaos,
	"pod-fast":                  presets.PodFast,
	"pod-general":               presets.PodGeneral,
	"pod-chaos":                 presets.PodChaos,
	"volumes":                   presets.Volumes,
}

func presetNames() []string { return slices.Sorted(maps.Keys(presetSources)) }

// inputFlags are the flags of commands that read Stages and objects.
type inputFlags struct {
	presets, objects []string
	extensions       bool
}

// addInput adds the flags; objects says whether the command takes objects.
func addInput(c *cobra.Command, objects bool) *inputFlags {
	var f inputFlags
	c.Flags().StringSliceVarP(&f.presets, "preset", "p", nil, "the Stages of this `preset`; may be repeated: "+strings.Join(presetNames(), ", "))
	_ = c.RegisterFlagCompletionFunc("preset", cobra.FixedCompletions(presetNames(), cobra.ShellCompDirectiveNoFileComp))
	if objects {
		c.Flags().StringSliceVar(&f.objects, "object", nil, "read the objects from this `file` (default: from the files of the Stages); may be repeated")
	}
	c.Flags().BoolVar(&f.extensions, "extensions", false, "allow the extensions of EXTENSIONS.md, which kwok does not have")
	return &f
}

// An input is the content of the sources.
type input struct {
	sources []stage.Source
	objects []*unstructured.Unstructured // of kinds that have Stages
	others  []*unstructured.Unstructured
}

// read reads all files. Objects come from the files of --object, or else from the files of the
// Stages.
func (f *inputFlags) read(files []string, stdin io.Reader) (in input, err error) {
	if len(files)+len(f.presets) == 0 {
		return in, usage("name a file with Stages, or a --preset")
	}
	for _, name := range f.presets {
		preset, known := presetSources[name]
		if !known {
			return in, usage("--preset %s: want one of %s", name, strings.Join(presetNames(), ", "))
		}
		in.sources = append(in.sources, preset())
	}
	stages, err := loadAll(files, stdin)
	if err != nil {
		return in, err
	}
	in.sources = append(in.sources, stages...)
	objects := stages
	if len(f.objects) > 0 {
		if objects, err = loadAll(f.objects, stdin); err != nil {
			return in, err
		}
	}
	for _, source := range objects {
		if faults := source.Errors(); len(faults) > 0 && len(f.objects) > 0 {
			return in, faultyInput{faults}
		}
		in.split(source.OtherObjects())
	}
	return in, nil
}

// compile compiles the Stages of the input.
func (f *inputFlags) compile(in input) (*stage.Set, error) {
	set, err := stage.Compile(stage.Options{Extensions: f.extensions}, in.sources...)
	if err != nil {
		return nil, faultyInput{err}
	}
	return set, nil
}

func loadAll(files []string, stdin io.Reader) (sources []stage.Source, err error) {
	for _, file := range files {
		source, err := loadFile(file, stdin)
		if err != nil {
			return nil, err
		}
		sources = append(sources, source)
	}
	return sources, nil
}

// split separates the objects that have Stages from the others, which only exist.
func (in *input) split(objects []*unstructured.Unstructured) {
	played := map[schema.GroupVersionKind]bool{}
	for _, kind := range in.stageKinds() {
		played[kind] = true
	}
	for _, obj := range objects {
		if played[obj.GroupVersionKind()] {
			in.objects = append(in.objects, obj)
		} else {
			in.others = append(in.others, obj)
		}
	}
}

// errNoObject is the error that no object has Stages.
func (in input) errNoObject() error {
	return fmt.Errorf("there is no object of a kind that has Stages, which are for %s: name a file that has one by --object", names(in.stageKinds()))
}

// names lists kinds, each once.
func names(kinds []schema.GroupVersionKind) string {
	var list []string
	for _, k := range kinds {
		list = append(list, k.GroupVersion().String()+" "+k.Kind)
	}
	if len(list) == 0 {
		return "no kind"
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ", ")
}

// stages returns the Stages of all sources.
func (in input) stages() (stages []v1alpha1.Stage) {
	for _, s := range in.sources {
		stages = append(stages, s.Stages()...)
	}
	return stages
}

// stageKinds are the kinds that have Stages.
func (in input) stageKinds() (kinds []schema.GroupVersionKind) {
	for _, st := range in.stages() {
		kinds = append(kinds, schema.FromAPIVersionAndKind(cmp.Or(st.Spec.ResourceRef.APIGroup, "v1"), st.Spec.ResourceRef.Kind))
	}
	return kinds
}

// kinds returns the kinds of the Stages and the objects.
func (in input) kinds() []schema.GroupVersionKind {
	kinds := in.stageKinds()
	for _, obj := range in.others {
		kinds = append(kinds, obj.GroupVersionKind())
	}
	return kinds
}
