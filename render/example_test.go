package render_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/stagecraft-go/stagecraft/render"
)

func Example() {
	tmpl, err := render.Compile(`
phase: Running
startTime: {{ Now }}
podIP: {{ PodIP }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  ready: true
{{ end }}
`, render.Options{})
	if err != nil {
		log.Fatal(err)
	}
	pod := map[string]any{
		"kind":     "Pod",
		"metadata": map[string]any{"namespace": "shop", "name": "web-0"},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "app"}}},
	}
	network := render.NewNetwork(render.NetworkOptions{})
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	value, ok, err := tmpl.Value(render.Input{Object: pod, Now: now, Env: network})
	if err != nil {
		log.Fatal(err)
	}
	data, _ := json.Marshal(value)
	fmt.Println(ok, string(data))
	// Output: true {"containerStatuses":[{"name":"app","ready":true}],"phase":"Running","podIP":"10.0.0.2","startTime":"2026-08-01T12:00:00Z"}
}

func ExampleCompile_fault() {
	_, err := render.Compile(`home: {{ env "HOME" }}`, render.Options{})
	fmt.Println(err)
	// Output: 1:10: function "env" not defined
}

func ExampleTemplate_Text_limit() {
	tmpl, err := render.Compile(`{{ range 3000000000 }}{{ end }}`, render.Options{Steps: 1000})
	if err != nil {
		log.Fatal(err)
	}
	_, err = tmpl.Text(render.Input{})
	fmt.Println(errors.Is(err, render.ErrLimit), err)
	// Output: true 1:10: needs more than 1000 steps
}

func ExampleNetwork() {
	network := render.NewNetwork(render.NetworkOptions{})
	network.Observe(map[string]any{
		"kind":     "Node",
		"metadata": map[string]any{"name": "node-0"},
		"spec":     map[string]any{"podCIDRs": []any{"10.244.3.0/24", "fd00:3::/64"}},
	})
	web := render.Pod{Node: "node-0", Namespace: "shop", Name: "web-0"}
	first, _ := network.PodIPs(web)
	again, _ := network.PodIPs(web)
	fmt.Println(first, again)
	// Output: [10.244.3.1 fd00:3::1] [10.244.3.1 fd00:3::1]
}
