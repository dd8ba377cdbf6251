package rehearse_test

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/rehearse"
)

// FuzzRun rehearses whatever a file may hold: it never panics, and says the same again.
func FuzzRun(f *testing.F) {
	f.Add(foundry+foundries+collector, `{"ready": true}`)
	f.Add(foundry+collector+"---\n{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {x: 1}}}", `{"phase": 1}`)
	f.Add(foundry+collector+`---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: a.b}
spec: 7
`, `{}`)
	f.Add(foundry+collector+`---
{apiVersion: v1, kind: Secret, metadata: 3}
---
{apiVersion: v1, kind: Secret, metadata: {namespace: [1], name: {}}}
`, `null`)
	f.Fuzz(func(t *testing.T, text, status string) {
		source := staged.Parse("f", []byte(text))
		var in rehearse.Input
		for _, p := range source.Policies() {
			in.Policy = p
		}
		for _, obj := range source.Others() {
			var c control.StatusCollector
			if obj.GetKind() == "StatusCollector" && runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &c) == nil {
				in.Collectors = append(in.Collectors, c)
				continue
			}
			in.Objects = append(in.Objects, obj)
		}
		in.Clusters = []rehearse.Cluster{{Name: "dev1", Labels: map[string]string{"env": "dev"}}, {Name: "prod1", Labels: map[string]string{"env": "prod"}}}
		for _, s := range staged.Parse("s", []byte("{kind: S, status: "+status+"}")).Others() {
			fields, _ := s.Object["status"].(map[string]any)
			in.Clusters[0].Script = append(in.Clusters[0].Script, rehearse.Status{After: time.Second, Status: fields})
		}
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		first, err := rehearse.Run(ctx, in)
		again, errAgain := rehearse.Run(ctx, in)
		switch {
		case ctx.Err() != nil:
		case (err == nil) != (errAgain == nil):
			t.Fatal(err, errAgain)
		case err == nil && first.String() != again.String():
			t.Fatal(first, again)
		}
	})
}
