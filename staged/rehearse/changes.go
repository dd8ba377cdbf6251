package rehearse

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A Change is something that users or clusters do during a rehearsal. One of the fields after After
// is set.
type Change struct {
	// After is how long after the start it happens.
	After metav1.Duration `json:"after"`
	// Policy is the name of the StagedBindingPolicy that Edit, Approve and LoseStatus are about.
	// Default Input.Policy.
	Policy string `json:"policy,omitempty"`
	// Edit is a JSON merge patch of the StagedBindingPolicy.
	Edit map[string]any `json:"edit,omitempty"`
	// Join is a cluster that joins, or that has new labels.
	Join *Joining `json:"join,omitempty"`
	// Leave is the name of a cluster that leaves.
	Leave string `json:"leave,omitempty"`
	// Apply is an object of the workload in a new version.
	Apply map[string]any `json:"apply,omitempty"`
	// Gate is an object of the hub that a stage names as a gate, complete with its status, instead of
	// the one before. Without a creationTimestamp it is created now.
	Gate map[string]any `json:"gate,omitempty"`
	// Approve is before.<stage> or after.<stage>; By is who approves it, as soon as the rollout asks
	// for that.
	Approve string `json:"approve,omitempty"`
	By      string `json:"by,omitempty"`
	// LoseStatus deletes the status of the StagedBindingPolicy, as a restored backup does.
	LoseStatus bool `json:"loseStatus,omitempty"`
}

// Joining is a cluster that joins.
type Joining struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
}

// A Script is what happens in a rehearsal in addition to the rollout.
type Script struct {
	Changes []Change `json:"changes,omitempty"`
	// Lag, if it is not 0, adds a second player, which sees everything so long after it has
	// happened. Lags adds one for each.
	Lag  metav1.Duration   `json:"lag,omitempty"`
	Lags []metav1.Duration `json:"lags,omitempty"`
}

// lags returns how much later than the first player the others see what happens.
func (s Script) lags() (all []time.Duration) {
	for _, l := range append([]metav1.Duration{s.Lag}, s.Lags...) {
		if l.Duration > 0 {
			all = append(all, l.Duration)
		}
	}
	return all
}

// what says what a change is.
func (c Change) what() string {
	switch {
	case c.Edit != nil:
		return "the edit"
	case c.Join != nil:
		return "the join of " + c.Join.Name
	case c.Leave != "":
		return "the leave of " + c.Leave
	case c.Apply != nil:
		return fmt.Sprintf("the apply of %v %s", c.Apply["kind"], (&unstructured.Unstructured{Object: c.Apply}).GetName())
	case c.Gate != nil:
		return "the gate " + nameOfObject(&unstructured.Unstructured{Object: c.Gate})
	case c.Approve != "":
		return "the approval " + c.Approve
	}
	return "the change"
}

// ParseScript reads a Script from YAML. Unknown fields are an error.
func ParseScript(text []byte) (s Script, err error) {
	return s, yaml.UnmarshalStrict(text, &s)
}

// changesDue carries out the changes that are due.
func (r *run) changesDue() error {
	for len(r.changes) > 0 && !r.now.Before(r.in.Start.Add(r.changes[0].After.Duration)) {
		c := r.changes[0]
		r.changes = r.changes[1:]
		if err := r.change(c); err != nil {
			return fmt.Errorf("change after %s: %w", c.After.Duration, err)
		}
		for _, p := range r.policies {
			p.version++
		}
	}
	return nil
}

// change carries out one change.
func (r *run) change(c Change) error {
	p := r.main()
	for _, other := range r.policies {
		if other.policy.Name() == c.Policy {
			p = other
		}
	}
	switch {
	case c.Edit != nil:
		p.record(Entry{Text: "the policy is edited"})
		return p.edit(c.Edit)
	case c.Join != nil:
		return r.join(*c.Join)
	case c.Leave != "":
		return r.leave(c.Leave)
	case c.Apply != nil:
		return r.apply(c.Apply)
	case c.Gate != nil:
		return r.putGate(c.Gate)
	case c.Approve != "":
		p.record(Entry{Text: "approved: " + c.Approve})
		p.consents[c.Approve] = c.By
		return nil
	case c.LoseStatus:
		p.record(Entry{Text: "the status is lost"})
		p.object.Status = v1alpha1.Status{}
		return nil
	}
	return errors.New("want one of edit, join, leave, apply, gate, approve and loseStatus")
}

// edit applies a merge patch to the policy.
func (r *policyRun) edit(patch map[string]any) error {
	raw, err := json.Marshal(r.object)
	if err != nil {
		return err
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		return err
	}
	if raw, err = json.Marshal(merged(fields, patch)); err != nil {
		return err
	}
	var object v1alpha1.StagedBindingPolicy
	if err := json.Unmarshal(raw, &object); err != nil {
		return err
	}
	policies, err := staged.Compile(r.in.Compile, staged.Object(object))
	if err != nil {
		return err
	}
	object.Status = r.object.Status
	object.Generation = r.object.Generation + 1
	r.object, r.policy = object, policies[0]
	return nil
}

// merged applies a JSON merge patch.
func merged(to, patch map[string]any) map[string]any {
	to = maps.Clone(to)
	for key, value := range patch {
		inner, isMap := value.(map[string]any)
		old, _ := to[key].(map[string]any)
		switch {
		case value == nil:
			delete(to, key)
		case isMap:
			if old == nil {
				old = map[string]any{}
			}
			to[key] = merged(old, inner)
		default:
			to[key] = value
		}
	}
	return to
}

// join adds a cluster, or changes the labels of one.
func (r *run) join(j Joining) error {
	r.hub.labels = maps.Clone(r.hub.labels)
	if _, known := r.hub.labels[j.Name]; known {
		r.record(Entry{Cluster: j.Name, Text: "has new labels"})
	} else {
		r.record(Entry{Cluster: j.Name, Text: "joins"})
		in := r.in
		in.Start = r.now
		c, err := newCluster(Cluster{Name: j.Name, Labels: j.Labels}, &in, r.workload)
		if err != nil {
			return err
		}
		r.clusters = append(r.clusters, c)
		r.hub.members = append(r.hub.members, c.member)
	}
	r.hub.labels[j.Name] = labelsOf(j.Labels)
	return r.bindAgain()
}

// leave removes a cluster.
func (r *run) leave(name string) error {
	if _, known := r.hub.labels[name]; !known {
		return fmt.Errorf("there is no cluster %s", name)
	}
	r.record(Entry{Cluster: name, Text: "leaves"})
	r.hub.labels = maps.Clone(r.hub.labels)
	delete(r.hub.labels, name)
	r.clusters = slices.DeleteFunc(r.clusters, func(c *cluster) bool { return c.name == name })
	r.hub.members = slices.DeleteFunc(r.hub.members, func(m *member) bool { return m.name == name })
	return r.bindAgain()
}

// apply stores a new version of an object of the workload.
func (r *run) apply(fields map[string]any) error {
	obj, err := copyOf(&unstructured.Unstructured{Object: fields})
	if err != nil {
		return err
	}
	for ref, old := range r.hub.objects {
		if old.GroupVersionKind() != obj.GroupVersionKind() || old.GetName() != obj.GetName() || obj.GetNamespace() != "" && old.GetNamespace() != obj.GetNamespace() {
			continue
		}
		next := over(old, obj)
		r.applied++
		next.SetResourceVersion(strconv.Itoa(1_000_000 + r.applied))
		r.hub.objects = maps.Clone(r.hub.objects)
		r.hub.objects[ref] = next
		r.record(Entry{Text: ref.String() + " is changed on the hub"})
		r.noteRevision()
		return r.bindAgain()
	}
	return fmt.Errorf("%s %s is not in the workload", obj.GetKind(), obj.GetName())
}

// bindAgain computes the Bindings after a change, and has the clusters brought up to date.
func (r *run) bindAgain() error {
	r.moved = true
	return r.bind()
}

// nextChange returns when the next change happens; zero: never.
func (r *run) nextChange() time.Time {
	if len(r.changes) == 0 {
		return time.Time{}
	}
	return r.in.Start.Add(r.changes[0].After.Duration)
}
