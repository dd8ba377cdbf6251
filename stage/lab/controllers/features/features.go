package features

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A State says what is done with a field.
type State int

// The states.
const (
	// Modelled: it has the effect that it has in Kubernetes.
	Modelled State = iota
	// Reported: it has no effect in a lab, but has one in Kubernetes' control plane; its use is reported.
	Reported
	// Refused: the cluster in memory refuses it.
	Refused
	// OnNodes: only a kubelet, a container runtime, kube-proxy or a program of others gives it an effect.
	OnNodes
)

// String returns the word for a state in FEATURES.md.
func (s State) String() string {
	return [...]string{"modelled", "reported", "refused", "on nodes"}[s]
}

// A Row is about a field of a kind.
type Row struct {
	// Path is the field, such as spec.containers[].resources, and all below it. "" is the kind as a
	// whole.
	Path string
	State
	// Feature is what Kubernetes does with it, in a few words.
	Feature string
	// Also is who reads the field though it is not modelled, and for what; "" if nothing does.
	Also string
	// Test shows it, if it is modelled, or what Also says.
	Test string
	// Unless are values, as text, that ask for nothing: those that the API server sets by default.
	Unless []string
}

// A Kind has rows.
type Kind struct {
	schema.GroupVersionKind
	// Controller writes the status of the kind; "" if nobody has to.
	Controller string
	Rows       []Row
}

// Kinds returns the table, in the order of FEATURES.md.
func Kinds() []Kind {
	return slices.Concat(podKinds(), workloadKinds(), serviceKinds(), nodeKinds(), volumeKinds(), policyKinds(), otherKinds())
}

// kind returns a Kind by its group, version and name.
func kind(group, version, name, controller string, rows ...[]Row) Kind {
	return Kind{schema.GroupVersionKind{Group: group, Version: version, Kind: name}, controller, slices.Concat(rows...)}
}

// modelled returns rows with the same feature and test.
func modelled(feature, test string, paths ...string) []Row {
	return rows(Row{State: Modelled, Feature: feature, Test: test}, paths)
}

// reported returns rows of which the use is reported.
func reported(feature string, paths ...string) []Row {
	return rows(Row{State: Reported, Feature: feature}, paths)
}

// reportedUnless is reported but for values that ask for nothing.
func reportedUnless(feature, path string, values ...string) []Row {
	return []Row{{Path: path, State: Reported, Feature: feature, Unless: values}}
}

// onNodes returns rows that only Nodes read.
func onNodes(feature string, paths ...string) []Row {
	return rows(Row{State: OnNodes, Feature: feature}, paths)
}

// also returns rows with who reads them though they are not modelled, and the test that shows it.
func also(reader, test string, rows []Row) []Row {
	for i := range rows {
		rows[i].Also, rows[i].Test = reader, test
	}
	return rows
}

func rows(like Row, paths []string) []Row {
	all := make([]Row, len(paths))
	for i, path := range paths {
		all[i] = like
		all[i].Path = path
	}
	return all
}
