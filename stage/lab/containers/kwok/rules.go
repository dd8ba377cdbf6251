package kwok

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Rules are what files say of containers. They are immutable and safe for concurrent use.
type Rules struct {
	logs     rules[logs]
	execs    rules[exec]
	attaches rules[attach]
	forwards rules[forward]
	usages   rules[usage]
	metrics  []*metrics
}

// metrics are those of a Metric.
type metrics struct {
	name string
	spec metricSpec
}

// A rule is for the Pods that it names, or that its selector matches.
type rule[Item any] struct {
	namespace, name string // of a Pod; "" if it is cluster-wide
	clusterWide     bool
	selector        *selector
	items           []Item
}

type rules[Item any] []rule[Item]

// of returns the item for a container or port of a Pod: of the rule with its name, or of the first
// cluster-wide rule that has one.
func (all rules[Item]) of(pod *unstructured.Unstructured, names func(Item) bool, isDefault func(Item) bool) (item Item, found bool) {
	for _, r := range all {
		if !r.clusterWide && r.namespace == pod.GetNamespace() && r.name == pod.GetName() {
			return choose(r.items, names, isDefault)
		}
	}
	for _, r := range all {
		if r.clusterWide && r.selector.matches(pod) {
			if item, found = choose(r.items, names, isDefault); found {
				return item, true
			}
		}
	}
	return item, false
}

func choose[Item any](items []Item, names, isDefault func(Item) bool) (item Item, found bool) {
	for _, choice := range []func(Item) bool{names, isDefault} {
		if i := slices.IndexFunc(items, choice); i >= 0 {
			return items[i], true
		}
	}
	return item, false
}

func (s *selector) matches(pod *unstructured.Unstructured) bool {
	has := func(list []string, name string) bool { return len(list) == 0 || slices.Contains(list, name) }
	return s == nil || has(s.MatchNamespaces, pod.GetNamespace()) && has(s.MatchNames, pod.GetName())
}

// maxFile is how many bytes a file may have.
const maxFile = 4 << 20

// Parse reads a file in YAML or JSON. The name is used in errors, which are of type *Fault, all of
// them at once. Objects of kind Stage are left to package stage; any other kind is a fault.
func Parse(name string, text []byte) (*Rules, error) {
	d := &decoder{name: name}
	r := &Rules{}
	if len(text) > maxFile {
		return nil, &Fault{name, 1, 1, "", "the file has more than 4 MiB"}
	}
	for documents := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var n yaml.Node
		err := documents.Decode(&n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, errors.Join(append(d.faults, &Fault{name, 1, 1, "", err.Error()})...)
		}
		if len(n.Content) > 0 && n.Content[0].Tag != "!!null" {
			r.add(d, n.Content[0])
		}
	}
	if len(d.faults) > 0 {
		return nil, errors.Join(d.faults...)
	}
	return r, nil
}

// Merge returns the rules of several files, in their order.
func Merge(files ...*Rules) *Rules {
	r := &Rules{}
	for _, f := range files {
		r.logs, r.execs, r.attaches = append(r.logs, f.logs...), append(r.execs, f.execs...), append(r.attaches, f.attaches...)
		r.forwards, r.usages = append(r.forwards, f.forwards...), append(r.usages, f.usages...)
		r.metrics = append(r.metrics, f.metrics...)
	}
	return r
}

// apiVersion is that of all kinds.
const apiVersion = "kwok.x-k8s.io/v1alpha1"

// add adds an object.
func (r *Rules) add(d *decoder, n *yaml.Node) {
	var version, kind string
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			switch n.Content[i].Value {
			case "apiVersion":
				version = n.Content[i+1].Value
			case "kind":
				kind = n.Content[i+1].Value
			}
		}
	}
	switch clusterWide := len(kind) > 7 && kind[:7] == "Cluster"; {
	case version != apiVersion:
		d.fault(n, "apiVersion", "want %s, got %q", apiVersion, version)
	case kind == "Stage":
	case kind == "Logs" || kind == "ClusterLogs":
		spec, at := decodeObject[logsSpec](d, n, clusterWide)
		r.logs = append(r.logs, newRule(at, spec.Selector, spec.Logs))
	case kind == "Exec" || kind == "ClusterExec":
		spec, at := decodeObject[execSpec](d, n, clusterWide)
		r.execs = append(r.execs, newRule(at, spec.Selector, spec.Execs))
	case kind == "Attach" || kind == "ClusterAttach":
		spec, at := decodeObject[attachSpec](d, n, clusterWide)
		r.attaches = append(r.attaches, newRule(at, spec.Selector, spec.Attaches))
	case kind == "PortForward" || kind == "ClusterPortForward":
		spec, at := decodeObject[forwardSpec](d, n, clusterWide)
		spec.check(d, n)
		r.forwards = append(r.forwards, newRule(at, spec.Selector, spec.Forwards))
	case kind == "ResourceUsage" || kind == "ClusterResourceUsage":
		spec, at := decodeObject[usageSpec](d, n, clusterWide)
		spec.compile(d, n)
		r.usages = append(r.usages, newRule(at, spec.Selector, spec.Usages))
	case kind == "Metric":
		spec, at := decodeObject[metricSpec](d, n, true)
		spec.compile(d, n)
		r.metrics = append(r.metrics, &metrics{at.name, spec})
	default:
		d.fault(n, "kind", "%q is none of Logs, Exec, Attach, PortForward, ResourceUsage, these with Cluster before them, Metric and Stage", kind)
	}
}

// A place says for which Pods an object is.
type place struct {
	namespace, name string
	clusterWide     bool
}

func decodeObject[Spec any](d *decoder, n *yaml.Node, clusterWide bool) (Spec, place) {
	var o object[Spec]
	d.decode(n, reflect.ValueOf(&o).Elem(), "")
	if o.Metadata.Name == "" {
		d.fault(n, "metadata.name", "want the name of the object")
	}
	if !clusterWide && hasSelector(o.Spec) {
		d.fault(n, "spec.selector", "only cluster-wide kinds have a selector: %s is for the Pod of its name", o.Kind)
	}
	return o.Spec, place{cmp.Or(o.Metadata.Namespace, "default"), o.Metadata.Name, clusterWide}
}

func hasSelector(spec any) bool {
	field := reflect.ValueOf(spec).FieldByName("Selector")
	return field.IsValid() && !field.IsNil()
}

func newRule[Item any](at place, s *selector, items []Item) rule[Item] {
	return rule[Item]{namespace: at.namespace, name: at.name, clusterWide: at.clusterWide, selector: s, items: items}
}
