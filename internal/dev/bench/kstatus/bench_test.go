package kstatus

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

func BenchmarkCompute(b *testing.B) {
	for _, s := range Samples {
		obj, err := s.Object()
		require.NoError(b, err)
		b.Run(s.Name+"/peer", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := status.Compute(obj); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(s.Name+"/ours", func(b *testing.B) {
			now := time.Now()
			b.ReportAllocs()
			for b.Loop() {
				kstatus.Standard().Compute(obj, now)
			}
		})
	}
}
