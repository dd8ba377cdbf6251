package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// A Scenario is realistic Stages and an object, prepared for all sides.
type Scenario struct {
	Name  string
	Sides []Side
}

// A Side does the work of one implementation when it receives an object. It must not be used from
// several goroutines at once.
type Side struct {
	Name string
	// Match finds the Stage and its delay; Whole also renders and encodes the effects. They return
	// how many Stages, or bytes, they found.
	Match, Whole func() (int, error)
}

// inputs are the parts of the conformance corpus that the scenarios use: a suite and an object,
// which may also be given here.
var inputs = []struct{ name, suite, object string }{
	{"pod-create", "kwok-pod-general", "pod-create.input.yaml"},
	{"pod-ready", "kwok-pod-general", "pod-ready.input.yaml"},
	{"pod-complete", "kwok-pod-general", "pod-complete.input.yaml"},
	{"pod-complete-2-containers", "kwok-pod-general", runningJob},
	{"pod-running-no-match", "kwok-pod-general", runningPod},
	{"node-heartbeat", "kwok-node-heartbeat", "node-running.input.yaml"},
	{"pvc-provision-cel", "kwok-volume-fast", "pvc-provision.input.yaml"},
	{"pv-bind-cel", "kwok-volume-fast", "pv-bind.input.yaml"},
}

// Scenarios prepares the scenarios from a conformance corpus. Without a corpus, the error wraps
// fs.ErrNotExist and the result has only the scenarios that do not need one.
func Scenarios(corpus string) ([]Scenario, error) {
	all, err := presetScenarios()
	if err != nil {
		return nil, err
	}
	for _, in := range inputs {
		dir := filepath.Join(corpus, "stage", in.suite)
		players, err := sidesOfSuite(dir, in.object)
		if err != nil {
			return all, fmt.Errorf("%s: %w", in.name, err)
		}
		all = append(all, Scenario{in.name, players})
	}
	return all, nil
}

// presetScenarios need no corpus.
func presetScenarios() ([]Scenario, error) {
	running, err := readObject("", runningPod)
	if err != nil {
		return nil, err
	}
	job, err := readObject("", runningJob)
	if err != nil {
		return nil, err
	}
	var all []Scenario
	for _, in := range []struct {
		name   string
		source stage.Source
		object *unstructured.Unstructured
	}{
		{"preset-pod-general", presets.PodGeneral(), job},
		{"pod-general-cel", podSelectors.stages(podRef), job},
		{"pod-general-cel-no-match", podSelectors.stages(podRef), running},
		{"sandbox-general-cel", sandboxSelectors.stages(sandboxRef), sandbox(job)},
		{"sandbox-general-cel-no-match", sandboxSelectors.stages(sandboxRef), sandbox(running)},
	} {
		players, err := sidesFor(in.source, in.object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", in.name, err)
		}
		all = append(all, Scenario{in.name, players})
	}
	return all, nil
}

// sidesOfSuite prepares the Stages of a suite and an object.
func sidesOfSuite(dir, object string) ([]Side, error) {
	obj, err := readObject(dir, object)
	if err != nil {
		return nil, err
	}
	source, err := stage.Load(filepath.Join(dir, "stages"))
	if err != nil {
		return nil, err
	}
	return sidesFor(source, obj)
}

// readObject reads the text of an object, or a file, as an API client does: integers are int64.
func readObject(dir, text string) (*unstructured.Unstructured, error) {
	data := []byte(text)
	if filepath.Ext(text) == ".yaml" {
		var err error
		if data, err = os.ReadFile(filepath.Join(dir, text)); err != nil {
			return nil, err
		}
	}
	data, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	return obj, obj.UnmarshalJSON(data)
}

// sidesFor prepares the sides. Kwok gets Pods and Nodes as Go types, as in its controllers. In
// another side it gets them as maps, so that it has the same input as package stage.
func sidesFor(source stage.Source, obj *unstructured.Unstructured) ([]Side, error) {
	set, err := stage.Compile(stage.Options{Lenient: true}, source)
	if err != nil {
		return nil, err
	}
	all := []Side{stagecraftSide(&Stagecraft{set}, obj)}
	for _, see := range []func(*unstructured.Unstructured) (kwokInput, bool){typedInput, untypedInput} {
		v, ok := see(obj)
		k, err := kwokFrom(source)
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, v.side(k, k.Of(obj)))
		}
	}
	return all, nil
}

func stagecraftSide(o *Stagecraft, obj *unstructured.Unstructured) Side {
	return Side{
		Name:  "stagecraft",
		Match: func() (int, error) { return o.Match(obj) },
		Whole: func() (int, error) { return o.Whole(obj) },
	}
}

func kwokFrom(source stage.Source) (*Kwok, error) {
	var stages []map[string]any
	for _, s := range source.Stages() {
		st, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&s)
		if err != nil {
			return nil, err
		}
		stages = append(stages, st)
	}
	return NewKwok(stages, addresses)
}

// addresses are template functions that are cheaper for kwok than its own.
var addresses = map[string]any{
	"NodeIP":     func() string { return "10.0.0.1" },
	"NodeName":   func() string { return "node" },
	"NodePort":   func() int { return 10250 },
	"NodeIPWith": func(string) string { return "10.0.0.1" },
	"PodIPWith":  func(string, bool, string, string, string) string { return "10.1.0.1" },
}

const runningPod = `
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: default, uid: 6f5c, resourceVersion: "81", creationTimestamp: "2024-05-06T07:00:00Z",
  labels: {app: web, pod-template-hash: 5d9c}, annotations: {example.com/note: "two containers"}}
spec:
  nodeName: node-17
  serviceAccountName: default
  containers:
  - {name: main, image: "registry.example.com/web:1.4", ports: [{containerPort: 8080}], resources: {requests: {cpu: 100m, memory: 64Mi}}}
  - {name: proxy, image: "registry.example.com/proxy:0.9", args: [--listen, ":9090"]}
  tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}]
status:
  phase: Running
  hostIP: 10.0.0.1
  podIP: 10.1.0.7
  startTime: "2024-05-06T07:00:01Z"
  conditions:
  - {type: Initialized, status: "True", lastTransitionTime: "2024-05-06T07:00:01Z"}
  - {type: Ready, status: "True", lastTransitionTime: "2024-05-06T07:00:03Z"}
  - {type: ContainersReady, status: "True", lastTransitionTime: "2024-05-06T07:00:03Z"}
  - {type: PodScheduled, status: "True", lastTransitionTime: "2024-05-06T07:00:00Z"}
  containerStatuses:
  - {name: main, ready: true, started: true, restartCount: 0, image: "registry.example.com/web:1.4", state: {running: {startedAt: "2024-05-06T07:00:02Z"}}}
  - {name: proxy, ready: true, started: true, restartCount: 0, image: "registry.example.com/proxy:0.9", state: {running: {startedAt: "2024-05-06T07:00:02Z"}}}
`

// runningJob is the same Pod with a Job as its owner, so that pod-complete matches.
var runningJob = strings.Replace(runningPod, "metadata: {", "metadata: {ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: 77ab}], ", 1)
