package expression_test

import (
	"testing"

	"github.com/google/cel-go/common/types"

	"github.com/stagecraft-go/stagecraft/internal/expression"
)

func BenchmarkCELPhase(b *testing.B) { benchmarkCEL(b, `self.status.phase == "Running"`) }

func BenchmarkCELConditions(b *testing.B) {
	benchmarkCEL(b, `self.status.conditions.exists(c, c.type == "Ready" && c.status == "True")`)
}

func benchmarkCEL(b *testing.B, source string) {
	p, err := expression.NewCompiler(expression.Options{}).CEL(source, types.BoolType)
	if err != nil {
		b.Fatal(err)
	}
	s := expression.NewScope(pod(), noon)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Bool(s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompileCEL(b *testing.B) {
	c := expression.NewCompiler(expression.Options{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.CEL(`self.status.phase == "Running"`, types.BoolType); err != nil {
			b.Fatal(err)
		}
	}
}
