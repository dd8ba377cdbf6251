package kstatus_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/txtar"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

// measured are usual objects, and one of a custom kind on which no rule has an opinion.
func measured(t testing.TB) map[string]*unstructured.Unstructured {
	archive, err := txtar.ParseFile("testdata/measured.txtar")
	require.NoError(t, err)
	objects := map[string]*unstructured.Unstructured{}
	for _, f := range archive.Files {
		objects[f.Name] = parse(t, string(f.Data))
	}
	return objects
}

func BenchmarkCompute(b *testing.B) {
	for name, obj := range measured(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				kstatus.Standard().Compute(obj, now)
			}
		})
	}
}

func BenchmarkMessage(b *testing.B) {
	r := kstatus.Standard().Compute(measured(b)["Deployment"], now)
	b.ReportAllocs()
	for b.Loop() {
		_ = r.Message()
	}
}

func TestComputingAllocatesNothing(t *testing.T) {
	for name, obj := range measured(t) {
		t.Run(name, func(t *testing.T) {
			require.Zero(t, testing.AllocsPerRun(100, func() { kstatus.Standard().Compute(obj, now) }))
		})
	}
}
