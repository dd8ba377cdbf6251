package lint_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/effort"
	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lint"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// overlappingShapes are sets of n Stages that match together, or nearly so.
var overlappingShapes = map[string]func(i int) v1alpha1.Stage{
	"one selector": func(int) v1alpha1.Stage { return overlapping(map[string]string{"app": "web"}, "phase: Running") },
	"one outcome each": func(i int) v1alpha1.Stage {
		return overlapping(map[string]string{"app": "web"}, fmt.Sprintf("phase: Running\nreason: r%d", i))
	},
	"one label each": func(i int) v1alpha1.Stage {
		return overlapping(map[string]string{fmt.Sprintf("app%d", i): "web"}, "phase: Running")
	},
	"one path each": func(i int) v1alpha1.Stage {
		return withExpression(v1alpha1.MatchExpression{Key: fmt.Sprintf(".metadata.annotations[\"a%d\"]", i), Operator: v1alpha1.SelectorOpExists})
	},
	"one CEL expression each": func(i int) v1alpha1.Stage {
		return withExpression(v1alpha1.MatchExpression{CEL: &v1alpha1.ExpressionCEL{Expression: fmt.Sprintf("self.metadata.generation < %d", i)}})
	},
}

func overlapping(labels map[string]string, status string) v1alpha1.Stage {
	s := v1alpha1.Stage{}
	s.Spec.ResourceRef.Kind = "Pod"
	s.Spec.Selector = &v1alpha1.StageSelector{MatchLabels: labels}
	s.Spec.Next = &v1alpha1.StageNext{StatusTemplate: status}
	return s
}

func withExpression(e v1alpha1.MatchExpression) v1alpha1.Stage {
	s := overlapping(nil, "phase: Running")
	s.Spec.Selector.MatchExpressions = []v1alpha1.MatchExpression{e}
	return s
}

func overlappingStages(shape string, n int) stage.Source {
	var stages []v1alpha1.Stage
	for i := range n {
		s := overlappingShapes[shape](i)
		s.Name = fmt.Sprintf("s%d", i)
		stages = append(stages, s)
	}
	return stage.FromStages(stages...)
}

// BenchmarkOverlapping checks and compiles 5,000 Stages of one kind. A check takes at most 2 s of CPU
// and 500 MiB; heap-MiB is the most that the process had so far.
func BenchmarkOverlapping(b *testing.B) {
	for _, shape := range effort.Some(slices.Sorted(maps.Keys(overlappingShapes))) {
		source := overlappingStages(shape, 5000)
		b.Run(shape+"/check", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				lint.Check(source)
			}
			m := runtime.MemStats{}
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapSys>>20), "heap-MiB")
		})
		b.Run(shape+"/compile", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := stage.Compile(stage.Options{}, source)
				require.NoError(b, err)
			}
		})
	}
}

// TestOverlappingStagesAreLinearWork counts allocations: for twice as many Stages that overlap
// about twice as much, where the work was the square or worse.
func TestOverlappingStagesAreLinearWork(t *testing.T) {
	if race.On {
		t.Skip("it takes six times as long with the race detector, and finds nothing more")
	}
	for _, shape := range effort.Some(slices.Sorted(maps.Keys(overlappingShapes))) {
		few, many := allocations(overlappingStages(shape, 400)), allocations(overlappingStages(shape, 800))
		t.Logf("%s: %.0f allocations for 400 Stages, %.2f times as many for 800", shape, few, many/few)
		require.Less(t, many/few, 2.3, shape)
	}
}

// allocations counts the allocations of one check.
func allocations(source stage.Source) float64 {
	return allocationsOf(func() { lint.Check(source) })
}

func allocationsOf(do func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs)
}

// TestManyOverlappingStagesAreFound checks that a limit of the work does not hide the finding.
func TestManyOverlappingStagesAreFound(t *testing.T) {
	require.Len(t, lint.Check(overlappingStages("one outcome each", 800)), 799)
}
