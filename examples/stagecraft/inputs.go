package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/stages"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/presets"
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

// read reads all files. Objects come from the files of --object, or else from the files of the
// Stages.
func (f *inputFlags) read(files []string, stdin io.Reader) (in stages.Input, err error) {
	if len(files)+len(f.presets) == 0 {
		return in, usage("name a file with Stages, or a --preset")
	}
	for _, name := range f.presets {
		preset, known := presetSources[name]
		if !known {
			return in, usage("--preset %s: want one of %s", name, strings.Join(presetNames(), ", "))
		}
		in.Sources = append(in.Sources, preset())
	}
	sources, err := loadAll(files, stdin)
	if err != nil {
		return in, err
	}
	in.Sources = append(in.Sources, sources...)
	objects := sources
	if len(f.objects) > 0 {
		if objects, err = loadAll(f.objects, stdin); err != nil {
			return in, err
		}
	}
	for _, source := range objects {
		if faults := source.Errors(); len(faults) > 0 && len(f.objects) > 0 {
			return in, faultyInput{faults}
		}
	}
	in.Add(objects...)
	return in, nil
}

// compile compiles the Stages of the input.
func (f *inputFlags) compile(in stages.Input) (*stage.Set, error) {
	set, err := stage.Compile(stage.Options{Extensions: f.extensions}, in.Sources...)
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

// errNoObject is the error that no object has Stages, with what to do.
func errNoObject(in stages.Input) error {
	return fmt.Errorf("%w: name a file that has one by --object", in.ErrNoObject())
}
