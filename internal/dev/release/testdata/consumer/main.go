// Command consumer uses every published module, as a program of somebody else would.
package main

import (
	"fmt"
	"log"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/examples/simulator/report"
	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/fakes/ctrlruntime"
	"github.com/stagecraft-go/stagecraft/stage/lab/gomega"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

func main() {
	if _, err := stage.Compile(stage.Options{}, presets.NodeFast(), presets.PodFast()); err != nil {
		log.Fatal(err)
	}
	if _, err := kube.NewForConfig(&rest.Config{Host: "http://127.0.0.1:1"}); err != nil {
		log.Fatal(err)
	}
	if _, err := apiserver.New(memory.New(memory.Options{}), apiserver.Options{}); err != nil {
		log.Fatal(err)
	}
	ctrlruntime.New(memory.New(memory.Options{}), ctrlruntime.Options{Scheme: scheme.Scheme})

	web := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "web"}}}
	if current, err := gomega.BeCurrent().Match(web); err != nil || !current {
		log.Fatal(current, err)
	}
	r := report.Report{Title: "web is " + string(kstatus.Compute(web).Status)}
	if err := r.WriteText(os.Stdout); err != nil {
		log.Fatal(err)
	}
	fmt.Println("consumer: done")
}
