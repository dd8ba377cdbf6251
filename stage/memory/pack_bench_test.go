package memory

import (
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// BenchmarkPack packs and unpacks a running Pod.
func BenchmarkPack(b *testing.B) {
	var pod map[string]any
	if err := utiljson.Unmarshal([]byte(runningPod), &pod); err != nil {
		b.Fatal(err)
	}
	p := newPacker()
	p.pack(pod)
	b.Run("pack", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			p.pack(pod)
		}
	})
	b.Run("unpack", func(b *testing.B) {
		b.ReportAllocs()
		packed := p.pack(pod)
		for b.Loop() {
			packed.unpack()
		}
		b.ReportMetric(float64(len(packed.text)), "B/text")
	})
}

const runningPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"work-0000001","namespace":"default","uid":"0b3c7a7e-4f0f-4b1e-9d5b-111111111111",
	"resourceVersion":"1000123","creationTimestamp":"2026-01-01T00:00:00Z","labels":{"app":"work"},"ownerReferences":[{"kind":"Job","name":"work"}]},
	"spec":{"nodeName":"node","containers":[{"name":"main","image":"registry.example/work:1"}]},
	"status":{"phase":"Running","hostIP":"10.0.0.1","podIP":"10.0.0.2","startTime":"2026-01-01T00:00:01.123456789Z",
	"conditions":[{"type":"Initialized","status":"True","lastTransitionTime":"2026-01-01T00:00:01.123456789Z"},
		{"type":"Ready","status":"True","reason":"","message":"","lastTransitionTime":"2026-01-01T00:00:03.123456789Z"},
		{"type":"ContainersReady","status":"True","reason":"","message":"","lastTransitionTime":"2026-01-01T00:00:03.123456789Z"}],
	"containerStatuses":[{"name":"main","image":"registry.example/work:1","ready":true,"restartCount":0,"started":true,
		"state":{"running":{"startedAt":"2026-01-01T00:00:03.123456789Z"}}}]}}`
