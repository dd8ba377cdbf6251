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

//go:embed policy.yaml policy-num.yaml workload.yaml stages
var builtin embed.FS

// A scene is what is rehearsed: policies, and all that they have in common.
type scene struct {
	policies []v1alpha1.StagedBindingPolicy
	input    rehearse.Input
}

// A file is the text of one.
type file struct {
	name string
	text []byte
}

// scene reads the files, and adds what they do not have. The error joins all faults.
func (o options) scene() (s scene, err error) {
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
		return s, usageError{err} // these are no files for -policy
	case err == nil: // otherwise the same faults of the text would be told of twice
		s.input.Stages, err = compileStages(stages)
	}
	for i, source := range policies {
		err = errors.Join(err, s.take(files[i].name, source.Others()))
	}
	if err != nil {
		return s, err
	}
	return s, s.complete(o)
}

// files are those of the command, or else the built-in ones.
func (o options) files() (files []file, err error) {
	read, names := os.ReadFile, o.policies
	if len(names) == 0 {
		read, names = builtin.ReadFile, []string{"policy.yaml"}
		if o.clusters {
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

// compileStages adds to the Stages of the files those for kinds that have none.
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
		source, err := stage.LoadFS(builtin, "stages/"+entry.Name())
		if err != nil {
			return nil, err
		}
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

// take takes in the objects of a file that are no policies.
func (s *scene) take(name string, others []*unstructured.Unstructured) (err error) {
	for _, obj := range others {
		var faults []error
		switch obj.GetKind() {
		case "Stage":
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

// complete adds what the files do not have.
func (s *scene) complete(o options) error {
	switch {
	case o.clusters && len(s.input.Clusters) > 0:
		return usageError{errors.New("want -clusters or ManagedClusters, not both")}
	case len(s.input.Clusters) == 0:
		s.input.Clusters = o.members()
	}
	for _, key := range slices.Sorted(maps.Keys(o.approve)) {
		if !slices.ContainsFunc(s.policies, func(p v1alpha1.StagedBindingPolicy) bool { _, ok := o.approvals(p)[key]; return ok }) {
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
	return s.take("workload.yaml", staged.Parse("workload.yaml", text).Others())
}

// members are the clusters where there are no others.
func (o options) members() (members []rehearse.Cluster) {
	names := []string{"dev1", "prod1", "prod2"}
	if o.clusters {
		names = append(names, "dev2")
	}
	for _, name := range names {
		labels := map[string]string{"env": strings.TrimRight(name, "12"), o.label: name}
		members = append(members, rehearse.Cluster{Name: name, Labels: labels})
	}
	return members
}

// A fares reads how a cluster fares from an annotation.
type fares func(c *rehearse.Cluster, text string) error

// annotations are those of ManagedClusters that a rehearsal knows.
var annotations = map[string]fares{
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
}

// collectorOf converts a StatusCollector. Of its faults staged.Compile has told.
func collectorOf(obj *unstructured.Unstructured) (c control.StatusCollector, err error) {
	raw, err := obj.MarshalJSON()
	if err != nil {
		return c, err
	}
	return c, yaml.Unmarshal(raw, &c)
}

// clusterOf is the cluster that a ManagedCluster of Open Cluster Management stands for. KubeStellar's inventory is made of these.
func clusterOf(obj *unstructured.Unstructured) (c rehearse.Cluster, faults []error) {
	c.Name, c.Labels = obj.GetName(), obj.GetLabels()
	have := obj.GetAnnotations()
	for _, key := range slices.Sorted(maps.Keys(have)) {
		if !strings.HasPrefix(key, "rehearsal.") {
			continue
		}
		fault := errors.New("unknown")
		if read := annotations[key]; read != nil {
			fault = read(&c, have[key])
		}
		if fault != nil {
			faults = append(faults, fmt.Errorf("metadata.annotations[%s]: %w", key, fault))
		}
	}
	return c, faults
}

// A scriptLine is what objects show some time after they came.
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
