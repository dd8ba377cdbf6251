package lint_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

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
	"expressions that fail": func(int) v1alpha1.Stage {
		return withExpression(v1alpha1.MatchExpression{Key: ".metadata.name + 1", Operator: v1alpha1.SelectorOpDoesNotExist})
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

// BenchmarkOverlapping checks 5,000 Stages of one kind, which takes at most 2 s of CPU and 500 MiB.
func BenchmarkOverlapping(b *testing.B) {
	for shape := range overlappingShapes {
		source := overlappingStages(shape, 5000)
		b.Run(shape, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				lint.Check(source)
			}
		})
	}
}

// TestOverlappingStagesAreLinearWork counts what is allocated: for twice as many Stages that overlap
// about twice as much, where the work was the square or worse.
func TestOverlappingStagesAreLinearWork(t *testing.T) {
	for shape := range overlappingShapes {
		allocations := func(n int) float64 {
			source := overlappingStages(shape, n)
			return testing.AllocsPerRun(1, func() { lint.Check(source) })
		}
		few, many := allocations(400), allocations(800)
		t.Logf("%s: %.0f allocations for 400 Stages, %.2f times as many for 800", shape, few, many/few)
		require.Less(t, many/few, 2.3, shape)
	}
}

// TestManyOverlappingStagesAreFound checks that a limit of the work does not hide the finding.
func TestManyOverlappingStagesAreFound(t *testing.T) {
	require.Len(t, lint.Check(overlappingStages("one outcome each", 800)), 799)
}
