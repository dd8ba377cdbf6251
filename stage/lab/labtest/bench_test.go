package labtest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
)

// BenchmarkLab rolls a thousand Deployments of ten replicas out, and over to another image.
func BenchmarkLab(b *testing.B) {
	for b.Loop() {
		lab := labtest.New(b, labtest.Options{Nodes: 100})
		for _, image := range []string{"nginx:1", "nginx:2"} {
			for i := range 1000 {
				lab.Apply(strings.NewReplacer("replicas: 3", "replicas: 10", "nginx", image, "web", fmt.Sprintf("web-%d", i)).Replace(web))
			}
			lab.WaitCurrent()
		}
	}
}
