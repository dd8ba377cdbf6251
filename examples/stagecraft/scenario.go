package main

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/rehearse"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

//go:embed stages-of-workloads
var workloadStages embed.FS

// A scenario is the policies to rehearse, and the input that they have in common.
type scenario struct {
	policies []v1alpha1.StagedBindingPolicy
	input    rehearse.Input
}

// scenario reads the files. The error joins all faults.
func (o *rehearsal) scenario(files []string, stdin io.Reader) (s scenario, err error) {
	s.input = rehearse.Input{Latency: o.latency, Seed: o.seed, Longest: o.longest, Explain: o.explain, Compile: staged.Options{ClusterLabel: o.label}}
	if o.start != "" {
		if s.input.Start, err = time.Parse(time.RFC3339, o.start); err != nil {
			return s, usage("--start %s: want a time such as 2006-01-02T15:04:05Z", o.start)
		}
	}
	var policies []staged.Source
	var stages []stage.Source
	for _, name := range files {
		text, err := readText(name, stdin)
		if err != nil {
			return s, err
		}
		policies = append(policies, staged.Parse(name, text))
		stages = append(stages, stage.Parse(name, text))
	}
	for _, source := range policies {
		s.policies = append(s.policies, source.Policies()...)
	}
	_, err = staged.Compile(s.input.Compile, policies...)
	if err == nil { // else faults of the text would be reported twice
		s.input.Stages, err = compileStages(stages)
	}
	for i, source := range policies {
		err = errors.Join(err, s.add(files[i], source.Others()))
	}
	if err == nil && len(s.input.Clusters) == 0 {
		err = errors.New("no ManagedCluster in the files")
	}
	if err != nil {
		return s, faultyInput{err}
	}
	return s, nil
}

// readText reads a file, or standard input ("-").
func readText(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(name)
}

// compileStages compiles the Stages of the files, and built-in ones for kinds without a Stage.
func compileStages(sources []stage.Source) (*stage.Set, error) {
	own, err := stage.Compile(stage.Options{}, sources...)
	if err != nil {
		return nil, err
	}
	has := own.Kinds()
	entries, err := workloadStages.ReadDir("stages-of-workloads")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		text, err := workloadStages.ReadFile("stages-of-workloads/" + entry.Name())
		if err != nil {
			return nil, err
		}
		source := stage.Parse(entry.Name(), text)
		set, err := stage.Compile(stage.Options{}, source)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(has, set.Kinds()[0]) {
			sources = append(sources, source)
		}
	}
	return stage.Compile(stage.Options{}, sources...)
}

// add adds the objects of a file that are no policies.
func (s *scenario) add(name string, others []*unstructured.Unstructured) (err error) {
	for _, obj := range others {
		var faults []error
		switch obj.GetKind() {
		case "Stage":
		case "Script":
			s.input.Script, faults = scriptOfObject(obj)
		case "ManagedCluster":
			var c rehearse.Cluster
			c, faults = clusterOf(obj)
			s.input.Clusters = append(s.input.Clusters, c)
		case "StatusCollector":
			c, fault := collectorOf(obj)
			if fault != nil {
				faults = append(faults, fault)
			}
			s.input.Collectors = append(s.input.Collectors, c)
		default:
			s.input.Objects = append(s.input.Objects, obj)
		}
		for _, fault := range faults {
			err = errors.Join(err, fmt.Errorf("%s: %s %q: %w", name, obj.GetKind(), obj.GetName(), fault))
		}
	}
	return err
}

// An annotationReader sets a field of a cluster from the text of an annotation.
type annotationReader func(c *rehearse.Cluster, text string) error

// annotationReaders are the annotations of ManagedClusters that a rehearsal knows.
var annotationReaders = map[string]annotationReader{
	"rehearsal.script": func(c *rehearse.Cluster, text string) (err error) {
		c.Script, err = scriptOf(text)
		return err
	},
	"rehearsal.latency": func(c *rehearse.Cluster, text string) (err error) {
		c.Latency, err = time.ParseDuration(text)
		return err
	},
	"rehearsal.silent": func(c *rehearse.Cluster, text string) (err error) {
		c.Silent, err = strconv.ParseBool(text)
		return err
	},
	"rehearsal.had": func(c *rehearse.Cluster, text string) (err error) {
		c.Had, err = strconv.ParseBool(text)
		return err
	},
}

// collectorOf converts a StatusCollector. staged.Compile has reported its faults.
func collectorOf(obj *unstructured.Unstructured) (c control.StatusCollector, err error) {
	raw, err := obj.MarshalJSON()
	if err != nil {
		return c, err
	}
	return c, yaml.Unmarshal(raw, &c)
}

// clusterOf returns the cluster of a ManagedCluster of Open Cluster Management, which KubeStellar's
// inventory consists of.
func clusterOf(obj *unstructured.Unstructured) (c rehearse.Cluster, faults []error) {
	c.Name, c.Labels = obj.GetName(), obj.GetLabels()
	have := obj.GetAnnotations()
	for _, key := range slices.Sorted(maps.Keys(have)) {
		if !strings.HasPrefix(key, "rehearsal.") {
			continue
		}
		fault := errors.New("unknown")
		if read := annotationReaders[key]; read != nil {
			fault = read(&c, have[key])
		}
		if fault != nil {
			faults = append(faults, fmt.Errorf("metadata.annotations[%s]: %w", key, fault))
		}
	}
	return c, faults
}

// scriptOfObject returns what happens in addition to the rollout.
func scriptOfObject(obj *unstructured.Unstructured) (rehearse.Script, []error) {
	fields := maps.Clone(obj.Object)
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(fields, name)
	}
	text, err := yaml.Marshal(fields)
	if err != nil {
		return rehearse.Script{}, []error{err}
	}
	script, err := rehearse.ParseScript(text)
	if err != nil {
		return script, []error{err}
	}
	return script, nil
}

// A scriptLine is a status that objects have from some time after they came.
type scriptLine struct {
	After  metav1.Duration `json:"after"`
	Kind   string          `json:"kind"`
	Status map[string]any  `json:"status"`
}

func scriptOf(text string) ([]rehearse.Status, error) {
	var lines []scriptLine
	if err := yaml.UnmarshalStrict([]byte(text), &lines); err != nil {
		return nil, err
	}
	script := []rehearse.Status{}
	for _, l := range lines {
		script = append(script, rehearse.Status{After: l.After.Duration, Kind: l.Kind, Status: l.Status})
	}
	return script, nil
}
