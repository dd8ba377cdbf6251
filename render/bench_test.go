package render_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/render"
)

// ready is a pod status in the style of kwok's.
const ready = `
{{ $time := Now }}
conditions:
{{ range list "Initialized" "Ready" "ContainersReady" }}
- type: {{ . | Quote }}
  status: "True"
  lastTransitionTime: {{ $time | Quote }}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  ready: true
  restartCount: 0
  state:
    running:
      startedAt: {{ $time | Quote }}
{{ end }}
{{ with NodeIPsWith .spec.nodeName }}
hostIP: {{ index . 0 | Quote }}
hostIPs:
{{ range . }}
- ip: {{ . | Quote }}
{{ end }}
{{ end }}
{{ with PodIPsWith .spec.nodeName (or .spec.hostNetwork false) (or .metadata.uid "") (or .metadata.name "") (or .metadata.namespace "") }}
podIP: {{ index . 0 | Quote }}
podIPs:
{{ range . }}
- ip: {{ . | Quote }}
{{ end }}
{{ end }}
phase: Running
startTime: {{ $time | Quote }}
`

func benchInput() render.Input {
	return render.Input{Object: pod(), Now: now, Env: render.NewNetwork(render.NetworkOptions{})}
}

func BenchmarkText(b *testing.B) {
	tmpl, in := compile(b, ready, render.Options{}), benchInput()
	b.ReportAllocs()
	for b.Loop() {
		_, err := tmpl.Text(in)
		require.NoError(b, err)
	}
}

func BenchmarkValue(b *testing.B) {
	tmpl, in := compile(b, ready, render.Options{}), benchInput()
	b.ReportAllocs()
	for b.Loop() {
		_, _, err := tmpl.Value(in)
		require.NoError(b, err)
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, err := render.Compile(ready, render.Options{})
		require.NoError(b, err)
	}
}
