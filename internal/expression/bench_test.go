package expr_test

import (
	"testing"

	"github.com/stagecraft-go/stagecraft/internal/expr"
)

func BenchmarkCELPhase(b *testing.B) { benchmarkCEL(b, `self.status.phase == "Running"`) }

func BenchmarkCELConditions(b *testing.B) {
	benchmarkCEL(b, `self.status.conditions.exists(c, c.type == "Ready" && c.status == "True")`)
}

func benchmarkCEL(b *testing.B, source string) {
	p, err := expr.NewCompiler(expr.Options{}).CEL(source, expr.Bool)
	if err != nil {
		b.Fatal(err)
	}
	s := expr.NewScope(pod(), noon)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Bool(s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJQPhase(b *testing.B) { benchmarkJQ(b, `.status.phase`) }

func BenchmarkJQConditions(b *testing.B) {
	benchmarkJQ(b, `.status.conditions.[] | select(.type == "Ready") | .status`)
}

// The same, written so that gojq runs it.
func BenchmarkJQConditionsByGojq(b *testing.B) {
	benchmarkJQ(b, `.status.conditions.[] as $c | $c | select(.type == "Ready") | .status`)
}

func benchmarkJQ(b *testing.B, source string) {
	p, err := expr.NewCompiler(expr.Options{}).JQ(source)
	if err != nil {
		b.Fatal(err)
	}
	obj := pod()
	s := expr.NewScope(obj, noon)
	b.ReportAllocs()
	for b.Loop() {
		s.Reset(obj, noon)
		if _, err := p.Outputs(s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompileJQ(b *testing.B) {
	for name, source := range map[string]string{"native": `.status.phase`, "gojq": `.a as $x | $x + 1`} {
		b.Run(name, func(b *testing.B) {
			c := expr.NewCompiler(expr.Options{})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.JQ(source); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompileCEL(b *testing.B) {
	c := expr.NewCompiler(expr.Options{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.CEL(`self.status.phase == "Running"`, expr.Bool); err != nil {
			b.Fatal(err)
		}
	}
}
