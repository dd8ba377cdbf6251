package kubestellar

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/staged/control"
)

// Mode says by which rules a CombinedStatus is computed.
type Mode int

// The modes. Upstream agrees with KubeStellar. Strict does not repeat KubeStellar's faults.
const (
	Upstream Mode = iota
	Strict
)

// A Report is what one cluster returned about an object.
type Report struct {
	Status     map[string]any
	LastUpdate time.Time // when the status was received
}

// Input is all that a CombinedStatus is computed from.
type Input struct {
	Binding  *control.Binding
	Object   *unstructured.Unstructured // the workload object as the hub has it
	Resource string                     // the plural name of its kind
	// Collectors are the valid StatusCollectors, by name.
	Collectors map[string]*Collector
	// Reports are the reports by cluster. A destination without one has not reported yet. A report
	// of a cluster that is no destination is ignored.
	Reports map[string]Report
}

// Combine returns the CombinedStatus of an object. It is false without one: the Binding does
// not hold the object, or names no collector for it.
func Combine(mode Mode, in Input) (*control.CombinedStatus, bool) {
	if in.Binding == nil || in.Object == nil {
		return nil, false
	}
	clause, ok := clauseOf(in)
	if !ok || len(clause.StatusCollectors) == 0 {
		return nil, false
	}
	status := &control.CombinedStatus{
		TypeMeta:   metav1.TypeMeta{APIVersion: control.GroupVersion.String(), Kind: "CombinedStatus"},
		ObjectMeta: combinedMeta(in, clause),
	}
	table := rows(in)
	names := slices.Clone(clause.StatusCollectors)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if c := in.Collectors[name]; c != nil {
			result := c.table(mode, table)
			result.Name = name
			status.Results = append(status.Results, result)
		}
	}
	return status, true
}

func clauseOf(in Input) (control.DownsyncClause, bool) {
	kind := in.Object.GroupVersionKind()
	w := in.Binding.Spec.Workload
	all := slices.Concat(w.ClusterScope, w.NamespaceScope)
	i := slices.IndexFunc(all, func(c control.DownsyncClause) bool {
		return c.Group == kind.Group && c.Resource == in.Resource && c.Namespace == in.Object.GetNamespace() && c.Name == in.Object.GetName()
	})
	if i < 0 {
		return control.DownsyncClause{}, false
	}
	return all[i], true
}

func combinedMeta(in Input, c control.DownsyncClause) metav1.ObjectMeta {
	var policy types.UID
	if owners := in.Binding.OwnerReferences; len(owners) > 0 {
		policy = owners[0].UID
	}
	return metav1.ObjectMeta{
		Name:      string(in.Object.GetUID()) + "." + string(policy),
		Namespace: cmp.Or(c.Namespace, control.ReportNamespace),
		Labels: map[string]string{
			control.StatusLabelPrefix + "api-group":      c.Group,
			control.StatusLabelPrefix + "resource":       c.Resource,
			control.StatusLabelPrefix + "namespace":      c.Namespace,
			control.StatusLabelPrefix + "name":           c.Name,
			control.StatusLabelPrefix + "binding-policy": in.Binding.Name,
		},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: in.Object.GetAPIVersion(), Kind: in.Object.GetKind(), Name: c.Name, UID: in.Object.GetUID(),
		}},
	}
}

// A row of the input table is a destination and the values of the variables for it.
type row struct {
	cluster string
	values  map[string]any
}

func rows(in Input) []row {
	var table []row
	for _, d := range in.Binding.Spec.Destinations {
		report := in.Reports[d.ClusterID]
		at := time.Unix(0, 0).UTC()
		if !report.LastUpdate.IsZero() {
			at = report.LastUpdate.UTC()
		}
		table = append(table, row{d.ClusterID, map[string]any{
			"inventory":   map[string]any{"name": d.ClusterID},
			"obj":         in.Object.Object,
			"returned":    map[string]any{"status": report.Status},
			"propagation": map[string]any{"lastReturnedUpdateTimestamp": at},
		}})
	}
	slices.SortStableFunc(table, func(a, b row) int { return cmp.Compare(a.cluster, b.cluster) })
	return table
}
