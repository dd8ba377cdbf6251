package main

import (
	"embed"
	"errors"
	"fmt"
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

//go:embed policy.yaml policy-num.yaml rollback.yaml update.yaml workload.yaml stages
var builtin embed.FS

// A scenario is the policies to rehearse, and the input that they have in common.
type scenario struct {
	policies []v1alpha1.StagedBindingPolicy
	input    rehearse.Input
}

// A file is the name and the text of a file.
type file struct {
	name string
	text []byte
}

// scenario reads the files, and adds defaults for what they do not have. The error joins all
// faults.
func (o options) scenario() (s scenario, err error) {
	files, err := o.files()
	if err != nil {
		return s, err
	}
	var policies []staged.Source
	var stages []stage.Source
	for _, f := range files {
		policies = append(policies, staged.Parse(f.name, f.text))
		stages = append(stages, stage.Parse(f.name, f.text))
	}
	s.input = rehearse.Input{Latency: o.latency, Seed: o.seed, Start: o.start, Longest: o.longest, Explain: o.explain,
		Compile: staged.Options{ClusterLabel: o.label}}
	for _, source := range policies {
		s.policies = append(s.policies, source.Policies()...)
	}
	_, err = staged.Compile(s.input.Compile, policies...)
	switch {
	case len(s.policies) == 0:
		return s, usageError{err} // the files are not for -policy
	case err == nil: // else faults of the text would be reported twice
		s.input.Stages, err = compileStages(stages)
	}
	for i, source := range policies {
		err = errors.Join(err, s.add(files[i].name, source.Others()))
	}
	if err != nil {
		return s, err
	}
	return s, s.addDefaults(o)
}

// files returns the files of the command, or else the built-in ones.
func (o options) files() (files []file, err error) {
	read, names := os.ReadFile, o.policies
	if len(names) == 0 {
		read, names = builtin.ReadFile, []string{"policy.yaml"}
		switch {
		case o.update:
			names = []string{"update.yaml"}
		case o.rollback:
			names = []string{"rollback.yaml"}
		case o.clusters:
			names = append(names, "policy-num.yaml")
		}
	}
	for _, name := range names {
		text, fault := read(name)
		err = errors.Join(err, fault)
		files = append(files, file{name, text})
	}
	return files, err
}

// compileStages compiles the Stages of the files, and built-in ones for kinds without a Stage.
func compileStages(sources []stage.Source) (*stage.Set, error) {
	own, err := stage.Compile(stage.Options{}, sources...)
	if err != nil {
		return nil, err
	}
	has := own.Kinds()
	entries, err := builtin.ReadDir("stages")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		text, err := builtin.ReadFile("stages/" + entry.Name())
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

// addDefaults adds the built-in clusters and workload if the files have none.
func (s *scenario) addDefaults(o options) error {
	switch {
	case o.clusters && len(s.input.Clusters) > 0:
		return usageError{errors.New("want -clusters or ManagedClusters, not both")}
	case len(s.input.Clusters) == 0:
		s.input.Clusters = o.builtinClusters()
	}
	for _, key := range slices.Sorted(maps.Keys(o.approve)) {
		concerned := func(p v1alpha1.StagedBindingPolicy) bool { _, ok := o.approvals(p)[key]; return ok }
		if !slices.ContainsFunc(s.policies, concerned) {
			return usageError{fmt.Errorf("-approve %s: want before. or after. and the name of a stage", key)}
		}
	}
	if len(s.input.Objects)+len(s.input.Collectors) > 0 {
		return nil
	}
	text, err := builtin.ReadFile("workload.yaml")
	if err != nil {
		return err
	}
	return s.add("workload.yaml", staged.Parse("workload.yaml", text).Others())
}

// builtinClusters returns the clusters of a rehearsal without ManagedClusters.
func (o options) builtinClusters() (clusters []rehearse.Cluster) {
	names := []string{"dev1", "prod1", "prod2"}
	if o.clusters {
		names = append(names, "dev2")
	}
	for _, name := range names {
		labels := map[string]string{"env": strings.TrimRight(name, "12"), o.label: name}
		clusters = append(clusters, rehearse.Cluster{Name: name, Labels: labels})
	}
	return clusters
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

// clusterOf returns the cluster of a ManagedCluster of Open Cluster Management:
// KubeStellar's inventory consists.
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
