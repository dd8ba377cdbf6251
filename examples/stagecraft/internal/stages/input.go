// Package stages reads Stages with the objects that they are played on, and has what packages lint, stage and
// explore say about them as data: for -o json of the command, and for the page.
package stages

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/explore"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// An Input is Stages and objects.
type Input struct {
	Sources []stage.Source               // of the Stages
	Objects []*unstructured.Unstructured // of kinds that have Stages
	Others  []*unstructured.Unstructured // they only exist
}

// Add adds the objects of sources.
func (in *Input) Add(objects ...stage.Source) {
	played := in.stageKinds()
	for _, source := range objects {
		for _, obj := range source.OtherObjects() {
			if slices.Contains(played, obj.GroupVersionKind()) {
				in.Objects = append(in.Objects, obj)
			} else {
				in.Others = append(in.Others, obj)
			}
		}
	}
}

// Stages returns the Stages of all sources.
func (in Input) Stages() (stages []v1alpha1.Stage) {
	for _, s := range in.Sources {
		stages = append(stages, s.Stages()...)
	}
	return stages
}

// stageKinds are the kinds that have Stages.
func (in Input) stageKinds() (kinds []schema.GroupVersionKind) {
	for _, st := range in.Stages() {
		kinds = append(kinds, schema.FromAPIVersionAndKind(cmp.Or(st.Spec.ResourceRef.APIGroup, "v1"), st.Spec.ResourceRef.Kind))
	}
	return kinds
}

// Kinds returns the kinds of the Stages and the objects. Unknown kinds are assumed to be namespaced, with a
// status.
func (in Input) Kinds() (kinds []memory.Kind) {
	for _, kind := range in.stageKinds() {
		kinds = append(kinds, memory.Kind{GroupVersionKind: kind, Status: true})
	}
	for _, obj := range in.Others {
		kinds = append(kinds, memory.Kind{GroupVersionKind: obj.GroupVersionKind(), Status: true})
	}
	return kinds
}

// Options returns options of package explore for the input. The time is the latest that the objects contain.
func (in Input) Options() explore.Options {
	return explore.Options{OtherObjects: in.Others, Kinds: in.Kinds(), Start: in.latestTime()}
}

// Explain explains what may happen now. If no object has Stages, it explains that for each object. An object
// that does not come from a cluster is explained as a cluster would store it.
func (in Input) Explain(ctx context.Context, set *stage.Set, o explore.Options) (all []stage.Explanation, err error) {
	if len(in.Objects) == 0 {
		in.Objects, in.Others = in.Others, nil
	}
	o.MaxStates, o.OtherObjects = 1, in.Others
	graph, err := explore.Explore(ctx, set, o, in.Objects...)
	if err != nil {
		return nil, err
	}
	for i, obj := range in.Objects {
		if stored := graph.States[graph.Starts[i]].Object(); obj.GetUID() == "" && stored != nil {
			obj = stored
		}
		all = append(all, set.Explain(obj, o.Start))
	}
	return all, nil
}

// ErrNoObject is the error that no object has Stages.
func (in Input) ErrNoObject() error {
	return fmt.Errorf("there is no object of a kind that has Stages, which are for %s", names(in.stageKinds()))
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
