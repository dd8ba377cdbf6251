package features

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A State says whether a field has its effect here.
type State int

// The states.
const (
	// Modelled: the field has the effect that it has in Kubernetes.
	Modelled State = iota
	// Reported: the field has no effect in a lab, but has one in Kubernetes' control plane; its use
	// is reported.
	Reported
	// Refused: the cluster in memory refuses the field.
	Refused
	// OnNodes: only a kubelet, a container runtime, kube-proxy or another program gives the field
	// an effect.
	OnNodes
	// Stored: the kind holds data for users and programs. No part of a control plane acts on it,
	// except as other kinds say that refer to it.
	Stored
	// Off: Kubernetes 1.36 has it only with a flag or a feature gate that is off by default. The
	// cluster in memory does not have it, and a request for such a kind is answered with NotFound.
	Off
)

// String returns the word for a state in FEATURES.md.
func (s State) String() string {
	return [...]string{"modelled", "reported", "refused", "on nodes", "stored", "off"}[s]
}

// A Row is about a field of a kind.
type Row struct {
	// Path is the field, such as spec.containers[].resources, with all fields below it. "" is the
	// kind as a whole.
	Path string
	State
	// Feature is what Kubernetes does with the field, in a few words.
	Feature string
	// Also says which program reads a field that is not modelled, and for what; "" if no program
	// does.
	Also string
	// Test is the name of the test that shows the effect of a modelled field, or the statement in
	// Also.
	Test string
	// Hooks is the name of hooks of a cluster with which a row that is reported has its effect; ""
	// without such hooks.
	Hooks string
	// Unless are values, as text, that have no effect: the defaults of the API server.
	Unless []string
	// Only are the values, as text, that have an effect. Nil: all values.
	Only []string
}

// A Kind is a kind with its rows.
type Kind struct {
	schema.GroupVersionKind
	// Controller is the controller that writes the status of the kind; "" if the kind needs no such
	// controller.
	Controller string
	Rows       []Row
}

// Kinds returns the table, in the order of FEATURES.md.
func Kinds() []Kind {
	return slices.Concat(podKinds(), workloadKinds(), serviceKinds(), nodeKinds(), volumeKinds(), policyKinds(), otherKinds(), storedKinds(), reviewKinds(), offKinds())
}

// kind returns a Kind by its group, version and name.
func kind(group, version, name, controller string, rows ...[]Row) Kind {
	return Kind{schema.GroupVersionKind{Group: group, Version: version, Kind: name}, controller, slices.Concat(rows...)}
}

// modelled returns rows with the same feature and test.
func modelled(feature, test string, paths ...string) []Row {
	return rows(Row{State: Modelled, Feature: feature, Test: test}, paths)
}

// reported returns rows whose use is reported.
func reported(feature string, paths ...string) []Row {
	return rows(Row{State: Reported, Feature: feature}, paths)
}

// reportedUnless returns a row whose use is reported, except for values that have no effect.
func reportedUnless(feature, path string, values ...string) []Row {
	return []Row{{Path: path, State: Reported, Feature: feature, Unless: values}}
}

// onNodes returns rows that only Nodes read.
func onNodes(feature string, paths ...string) []Row {
	return rows(Row{State: OnNodes, Feature: feature}, paths)
}

// also returns rows that are not modelled, with the program that reads them, and the test that
// shows it.
func also(reader, test string, rows []Row) []Row {
	for i := range rows {
		rows[i].Also, rows[i].Test = reader, test
	}
	return rows
}

// withHooks returns rows that have their effect on a cluster with hooks of a name.
func withHooks(hooks string, rows []Row) []Row {
	for i := range rows {
		rows[i].Hooks = hooks
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
