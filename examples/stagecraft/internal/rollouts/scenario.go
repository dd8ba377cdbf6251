// Package rollouts reads StagedBindingPolicies with their workload and clusters, and rehearses them, for the
// command and for the page.
package rollouts

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"maps"
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

// A Scenario is the policies to rehearse, and the input that they have in common.
type Scenario struct {
	Policies []v1alpha1.StagedBindingPolicy
	Input    rehearse.Input
}

// A Text is the content of a file.
type Text struct {
	Name string
	Data []byte
}

// Read adds the content of files to an input. The error joins all faults.
func Read(in rehearse.Input, texts ...Text) (Scenario, error) {
	s := Scenario{Input: in}
	var policies []staged.Source
	var stages []stage.Source
	for _, text := range texts {
		source := staged.Parse(text.Name, text.Data)
		policies = append(policies, source)
		stages = append(stages, stage.Parse(text.Name, text.Data))
		s.Policies = append(s.Policies, source.Policies()...)
	}
	_, err := staged.Compile(s.Input.Compile, policies...)
	if err == nil { // else faults of the text would be reported twice
		s.Input.Stages, err = compileStages(stages)
	}
	for i, source := range policies {
		err = errors.Join(err, s.add(texts[i].Name, source.Others()))
	}
	if err == nil && len(s.Input.Clusters) == 0 {
		err = errors.New("no ManagedCluster in the files")
	}
	return s, err
}

// Rehearse rehearses each policy on its own clusters, or all together on one hub. Each policy takes the
// approvals that name one of its stages.
func (s Scenario) Rehearse(ctx context.Context, together bool, approvals map[string]time.Duration) (all []*rehearse.Timeline, err error) {
	in, policies := s.Input, s.Policies
	if together {
		policies = policies[:1]
	}
	in.Others = s.Policies[len(policies):]
	for _, policy := range policies {
		in.Policy, in.Approvals = policy, concerning(policy, approvals)
		timeline, fault := rehearse.Run(ctx, in)
		if fault != nil {
			err = errors.Join(err, fmt.Errorf("policy %q: %w", policy.Name, fault))
		}
		all = append(all, timeline)
	}
	return all, err
}

// Concerns reports whether an approval is for a stage of one of the policies.
func (s Scenario) Concerns(approval string) bool {
	return slices.ContainsFunc(s.Policies, func(p v1alpha1.StagedBindingPolicy) bool {
		return len(concerning(p, map[string]time.Duration{approval: 0})) > 0
	})
}

// concerning returns the approvals that concern a policy.
func concerning(policy v1alpha1.StagedBindingPolicy, approvals map[string]time.Duration) map[string]time.Duration {
	own := map[string]time.Duration{}
	for _, stage := range policy.Spec.Stages {
		for _, key := range []string{"before." + stage.Name, "after." + stage.Name} {
			if after, ok := approvals[key]; ok {
				own[key] = after
			}
		}
	}
	return own
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
func (s *Scenario) add(name string, others []*unstructured.Unstructured) (err error) {
	for _, obj := range others {
		var faults []error
		switch obj.GetKind() {
		case "Stage":
		case "Script":
			s.Input.Script, faults = scriptOfObject(obj)
		case "ManagedCluster":
			var c rehearse.Cluster
			c, faults = clusterOf(obj)
			s.Input.Clusters = append(s.Input.Clusters, c)
		case "StatusCollector":
			c, fault := collectorOf(obj)
			if fault != nil {
				faults = append(faults, fault)
			}
			s.Input.Collectors = append(s.Input.Collectors, c)
		default:
			s.Input.Objects = append(s.Input.Objects, obj)
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
