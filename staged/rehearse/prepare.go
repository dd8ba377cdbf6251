package rehearse

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// prepare checks an Input, stores its objects, and copies the scripts of its clusters.
func (in *Input) prepare() (workload, error) {
	_, invalid := in.compile()
	var faults Errors
	names := in.checkCollectors(&faults)
	in.checkDownsync(&faults, names)
	w, refused := newWorkload(in)
	faults = append(faults, refused...)
	in.checkClusters(&faults)
	in.checkTimes(&faults)
	return w, errors.Join(invalid, faults.err())
}

// compile compiles all policies.
func (in *Input) compile() ([]*staged.Policy, error) {
	sources := []staged.Source{staged.Object(in.Policy)}
	for _, other := range in.Others {
		sources = append(sources, staged.Object(other))
	}
	return staged.Compile(in.Compile, sources...)
}

func (in *Input) checkTimes(faults *Errors) {
	faults.duration("Input.Latency", in.Latency)
	for _, key := range slices.Sorted(maps.Keys(in.Approvals)) {
		field := fmt.Sprintf("Input.Approvals[%q]", key)
		if !in.approves(key) {
			faults.addf(field, "want before. or after. and the name of a stage")
		}
		faults.duration(field, in.Approvals[key])
	}
	faults.duration("Input.Longest", in.Longest)
	for i, c := range in.Script.Changes {
		field := fmt.Sprintf("Input.Script.Changes[%d]", i)
		if c.After.Duration > in.Longest {
			faults.addf(field+".After", "%s after %s comes after the end of the rehearsal: Input.Longest is %s", c.what(), c.After.Duration, in.Longest)
		}
		if known := in.policyNamed(c.Policy); !known {
			faults.addf(field+".Policy", "no policy has the name %q", c.Policy)
		}
	}
}

func (in *Input) checkCollectors(faults *Errors) (names []string) {
	for i, c := range in.Collectors {
		faults.unique(fmt.Sprintf("Input.Collectors[%d].Name", i), c.Name, names)
		names = append(names, c.Name)
		if _, err := kubestellar.Compile(c.Spec); err != nil {
			faults.addf(fmt.Sprintf("Input.Collectors[%d].Spec", i), "StatusCollector %q: %w", c.Name, err)
		}
	}
	return names
}

// checkDownsync finds collectors that the policy names and that do not exist.
func (in *Input) checkDownsync(faults *Errors, names []string) {
	check := func(field string, p v1alpha1.StagedBindingPolicy) {
		for i, clause := range p.Spec.Downsync {
			for j, name := range clause.StatusCollectors {
				if !slices.Contains(names, name) {
					faults.addf(fmt.Sprintf("%s.Spec.Downsync[%d].StatusCollectors[%d]", field, i, j), "%q is not in Input.Collectors", name)
				}
			}
		}
	}
	check("Input.Policy", in.Policy)
	for i, p := range in.Others {
		check(fmt.Sprintf("Input.Others[%d]", i), p)
	}
}

// policyNamed reports whether a policy has this name; "" is that of Input.Policy.
func (in *Input) policyNamed(name string) bool {
	return name == "" || name == in.Policy.Name || slices.ContainsFunc(in.Others, func(p v1alpha1.StagedBindingPolicy) bool { return p.Name == name })
}

func (in *Input) checkClusters(faults *Errors) {
	if len(in.Clusters) == 0 {
		faults.addf("Input.Clusters", "want at least one cluster")
	}
	in.Clusters = slices.Clone(in.Clusters)
	var names []string
	for i, c := range in.Clusters {
		field := fmt.Sprintf("Input.Clusters[%d]", i)
		faults.unique(field+".Name", c.Name, names)
		names = append(names, c.Name)
		faults.duration(field+".Latency", c.Latency)
		in.Clusters[i].Script = faults.script(field+".Script", c.Script)
	}
}

// script checks a script and returns a copy.
func (e *Errors) script(field string, script []Status) []Status {
	script = slices.Clone(script)
	for i, s := range script {
		e.duration(fmt.Sprintf("%s[%d].After", field, i), s.After)
		status, err := clone(s.Status)
		if err != nil {
			e.add(fmt.Sprintf("%s[%d].Status", field, i), err)
		}
		script[i].Status = status
	}
	return script
}

// approves reports whether a key of Approvals belongs to a stage.
func (in *Input) approves(key string) bool {
	return slices.ContainsFunc(in.Policy.Spec.Stages, func(s v1alpha1.Stage) bool {
		return key == "before."+s.Name || key == "after."+s.Name
	})
}
