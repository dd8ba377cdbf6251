package main

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/kubelet"
)

// programs run the containers of the tests of Jobs whose scripts package kubelet does not know; see
// k8s.io/kubernetes/test/e2e/framework/job/fixtures.go. It is safe for concurrent use.
type programs struct {
	mu      sync.Mutex
	created map[file]attempt
}

// A file is one of a volume of a Pod or of a node.
type file struct{ volume, name string }

// An attempt is one run of a container.
type attempt struct {
	pod, container string
	nth            int
}

func newPrograms() *programs { return &programs{created: map[file]attempt{}} }

// of returns the program of a container, as kubelet.Options.Program.
func (p *programs) of(pod *unstructured.Unstructured, container string, nth int) (kubelet.Program, bool) {
	spec := containerOf(pod, container)
	image, _, _ := unstructured.NestedString(spec, "image")
	words := append(texts(spec, "command"), texts(spec, "args")...)
	script := strings.Join(words, " ")
	index := pod.GetAnnotations()["batch.kubernetes.io/job-completion-index"]
	switch {
	case len(words) == 0 && strings.Contains(image, "busybox"):
		return kubelet.Program{}, true // its command is sh, which finds no input
	case strings.Contains(script, "expr ${JOB_COMPLETION_INDEX} % 2"):
		n, err := strconv.Atoi(index)
		return kubelet.Program{ExitCode: n % 2}, err == nil
	case !strings.Contains(script, "touch /data/foo"):
		return kubelet.Program{}, false
	case !p.creates(file{volumeOf(pod), index}, attempt{string(pod.GetUID()), container, nth}):
		return kubelet.Program{}, true
	case strings.Contains(script, "sleep 1000000"):
		return kubelet.Program{Runs: 1000000 * time.Second}, true
	case strings.Contains(script, "exit 42"):
		return kubelet.Program{ExitCode: 42}, true
	}
	return kubelet.Program{ExitCode: 1}, true
}

// creates reports whether a run is the first that wants a file to be there.
func (p *programs) creates(f file, r attempt) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.created[f]; !ok {
		p.created[f] = r
	}
	return p.created[f] == r
}

// volumeOf returns the directory of the node that a Pod mounts. Without one it returns the Pod
// itself, which has its own directory.
func volumeOf(pod *unstructured.Unstructured) string {
	volumes, _, _ := unstructured.NestedSlice(pod.Object, "spec", "volumes")
	for _, v := range volumes {
		m, _ := v.(map[string]any)
		if path, ok, _ := unstructured.NestedString(m, "hostPath", "path"); ok {
			return path
		}
	}
	return string(pod.GetUID())
}

func containerOf(pod *unstructured.Unstructured, name string) map[string]any {
	for _, field := range []string{"initContainers", "containers"} {
		all, _, _ := unstructured.NestedSlice(pod.Object, "spec", field)
		for _, c := range all {
			if m, _ := c.(map[string]any); m["name"] == name {
				return m
			}
		}
	}
	return nil
}

func texts(m map[string]any, field string) []string {
	all, _, _ := unstructured.NestedStringSlice(m, field)
	return all
}
