package bench

import (
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// finalizers are the steps that change finalizers.
func (s situation) finalizers() (all []v1alpha1.StageFinalizers) {
	spec := s.of().Spec
	for _, step := range spec.Steps {
		if step.Finalizers != nil {
			all = append(all, *step.Finalizers)
		}
	}
	if spec.Next != nil && len(spec.Steps) == 0 && spec.Next.Finalizers != nil {
		all = append(all, *spec.Next.Finalizers)
	}
	return all
}

func (s situation) removesAndAdds(f v1alpha1.StageFinalizers) bool {
	have := s.Case.object().GetFinalizers()
	return slices.ContainsFunc(f.Add, func(item v1alpha1.FinalizerItem) bool {
		return slices.Contains(have, item.Value) && (f.Empty || slices.Contains(f.Remove, item))
	})
}

func addsTwice(f v1alpha1.StageFinalizers) bool {
	seen := map[string]bool{}
	return slices.ContainsFunc(f.Add, func(item v1alpha1.FinalizerItem) bool {
		before := seen[item.Value]
		seen[item.Value] = true
		return before
	})
}

// onlyJSONPatchesDiffer reports whether all effects but the JSON patches, which changes of
// finalizers are, are the same.
func (s situation) onlyJSONPatchesDiffer() bool {
	return slices.Equal(others(s.mismatch.kwok), others(s.ours))
}

func others(effects string) (lines []string) {
	for line := range strings.Lines(effects) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "patch application/json-patch+json") {
			lines = append(lines, line)
		}
	}
	return lines
}
