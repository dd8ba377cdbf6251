package bindingpolicy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// Capabilities returns what KubeStellar can do: K1 if content is true, else K0.
func Capabilities(content bool) fleet.Capabilities {
	can := fleet.Capabilities{Content: content, ByName: true, Kind: "BindingPolicy", Bound: "Binding"}
	if content {
		can.Best = fleet.EvidenceOrdered
	}
	return can
}

// World returns what the Rollout was shown as package staged wants it. The status has what was
// applied before.
func (r *Rollout) World(status v1alpha1.Status, now fleet.Instant) fleet.World {
	policy := r.core.Policy()
	if !r.selected {
		for _, s := range r.observed {
			s.findSelected(policy.ClusterLabel(), r.clusters)
		}
		r.selected = r.clusters != nil
	}
	w := fleet.World{Meta: r.meta, Now: now, Approvals: r.answers, Gates: r.gates, Collectors: r.compiled, Can: Capabilities(r.workload != nil)}
	w.Can.Inventory = r.clusters != nil
	for _, name := range slices.Sorted(maps.Keys(r.observed)) {
		switch s := r.observed[name]; {
		case s.policy != nil || s.foreign:
			w.Placements = append(w.Placements, s.placement(name, policy))
		case s.binding != nil && r.meta.DeletionTimestamp != nil: // the transport still takes it away
			w.Placements = append(w.Placements, fleet.Placement{Name: name, Ending: true})
		}
	}
	if r.workload != nil {
		w.Workload = *r.workload
	} else {
		w.Workload.Revision = r.version(policy)
	}
	w.Clusters = r.allClusters(status, w)
	w.Adopted, w.Conflicts = r.adopted(), r.conflicts(w)
	return w
}

// allClusters returns the clusters that exist or are held by a placement.
func (r *Rollout) allClusters(status v1alpha1.Status, w fleet.World) []fleet.Cluster {
	names := map[string]bool{}
	for name := range r.clusters {
		names[name] = true
	}
	for _, p := range w.Placements {
		for _, name := range p.Has {
			names[name] = true
		}
	}
	before := map[string]fleet.RevisionID{}
	for _, c := range status.Cohorts {
		for _, name := range c.Clusters {
			before[name] = fleet.RevisionID(c.Applied)
		}
	}
	all := make([]fleet.Cluster, 0, len(names))
	bound := r.bound(w)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c := r.applied[name]
		c.Name, c.Labels = name, r.clusters[name]
		if r.clusters != nil && r.clusters[name] != nil && c.Labels == nil {
			c.Labels = map[string]string{}
		}
		if r.workload == nil {
			switch held, has := bound[name]; {
			case !has:
			case held:
				c.Applied = before[name]
			default:
				c.Applied = w.Workload.Revision
			}
		}
		all = append(all, c)
	}
	return all
}

// bound returns the clusters that Bindings hold, and whether each is held at what it has: K0 takes a
// Binding that is open and up to date for the delivery.
func (r *Rollout) bound(w fleet.World) map[string]bool {
	all := map[string]bool{}
	if r.workload != nil {
		return all
	}
	for _, p := range w.Placements {
		held := !p.Open
		for _, name := range p.Has {
			before, known := all[name]
			all[name] = held && (!known || before)
		}
	}
	return all
}

// version returns the identity of the workload by resourceVersions: of each object the newest one
// that a Binding names. If status is returned into the objects, each report makes a new
// resourceVersion, which is no new revision.
func (r *Rollout) version(policy *staged.Policy) fleet.RevisionID {
	newest := map[fleet.ObjectRef]string{}
	for _, s := range r.observed {
		if !s.isBound() || s.foreign {
			continue
		}
		for _, o := range s.bound {
			rv := o.clause.ResourceVersion
			if o.clause.WantSingletonReportedState || o.clause.WantMultiWECReportedState {
				rv = ""
			}
			if old, known := newest[o.ref]; !known || isNewer(rv, old) {
				newest[o.ref] = rv
			}
		}
	}
	if len(newest) == 0 {
		return ""
	}
	var lines []string
	for ref, rv := range newest {
		lines = append(lines, fmt.Sprintf("%s/%s/%s/%s@%s", ref.Group, ref.Resource, ref.Namespace, ref.Name, rv))
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return fleet.RevisionID("sha256:" + hex.EncodeToString(sum[:]))
}

// isNewer compares resourceVersions: by number, or by text where they are no numbers.
func isNewer(a, b string) bool {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) > 0
}

// Manifest returns the BindingPolicy that a placement asks for, complete except for what the API
// server adds.
func Manifest(policy *staged.Policy, meta metav1.ObjectMeta, p fleet.Placement) *control.BindingPolicy {
	spec := control.BindingPolicySpec{ClusterSelectors: p.Selectors, Downsync: policy.Definition().Spec.Downsync}
	if p.Clusters != nil {
		spec.ClusterSelectors = []metav1.LabelSelector{{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: policy.ClusterLabel(), Operator: metav1.LabelSelectorOpIn, Values: p.Clusters,
		}}}}
	}
	if p.Hold {
		spec.Downsync = staged.Held(spec.Downsync)
	}
	made := &control.BindingPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: control.GroupVersion.String(), Kind: "BindingPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: p.Name},
		Spec:       spec,
	}
	if policy.DeletionPolicy() == "" {
		made.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind, Name: policy.Name(), UID: meta.UID}}
	}
	if p.Version > 0 {
		made.Annotations = map[string]string{v1alpha1.VersionAnnotation: strconv.FormatInt(p.Version, 10)}
	}
	return made
}
