package hunt

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/namespaces"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// uncompared are kinds that say nothing of the controllers under test, or that differ with the order
// in which addresses were given out.
var uncompared = map[string]bool{"Event": true, "Lease": true, "Node": true, "ControllerRevision": true, "Endpoints": true, "EndpointSlice": true}

// unstable are fields that differ with the time or the order of writes and nothing else.
var unstable = map[string]bool{
	"resourceVersion": true, "managedFields": true, "creationTimestamp": true, "generation": true, "nodeName": true,
	"podIP": true, "podIPs": true, "hostIP": true, "hostIPs": true, "containerID": true, "clusterIP": true, "clusterIPs": true,
	"nodePort": true, "deployment.kubernetes.io/revision": true, "deployment.kubernetes.io/revision-history": true, "collisionCount": true,
}

// A canon makes states comparable.
type canon struct {
	ignore map[string]bool
	uids   map[string]string // names of objects, by uid
	names  map[string]string // names without what was generated
	hashes []string          // of templates and revisions, after a hyphen as in names
}

// A State is that of a cluster, comparable with those of other clusters. It has no Events, Leases, Nodes,
// ControllerRevisions, Endpoints and EndpointSlices, and no fields that differ with the time or with the order of
// writes, such as resourceVersion, managedFields, addresses and node ports. Conditions are in any order, times count
// as equal, an observedGeneration is current or not, uids and generated names are compared by what they stand for,
// hashes of templates and revisions count as equal, also within names, and ReplicaSets of Deployments without replicas
// are left out.
type State struct{ objects map[string]any }

// StateOf returns the state of a cluster without fields of some names, at any depth.
func StateOf(c *memory.Cluster, ignore ...string) State {
	return State{stateOf(c, ignore, nil)}
}

// Differences returns lines that say where another state differs from that of its twin.
func (s State) Differences(here State) []string {
	_, lines := difference(s.objects, here.objects)
	return lines
}

// state returns the objects of the cluster by name, comparable with those of other runs.
func (r *Run) state() map[string]any { return stateOf(r.shared, r.options.Ignore, r.initial) }

func stateOf(cluster *memory.Cluster, ignore []string, initial map[types.UID]bool) map[string]any {
	var objs []*unstructured.Unstructured
	c := canon{ignore: map[string]bool{}, uids: map[string]string{}, names: map[string]string{}}
	for o := range cluster.All() {
		c.learnHash(o)
		if !uncompared[o.GetKind()] && !isOldReplicaSet(o) && !isProvisioned(o) && !initial[o.GetUID()] {
			objs = append(objs, o)
		}
	}
	for _, path := range ignore {
		c.ignore[path] = true
	}
	for _, o := range objs {
		c.learn(o)
	}
	state := map[string]any{}
	groups := map[string][]string{}
	for _, o := range objs {
		name, made := o.GetKind()+" "+c.place(o), c.object(o)
		if strings.HasSuffix(name, "-?") {
			groups[name] = append(groups[name], string(must(object.AppendJSON(nil, made))))
			state[name+string(must(object.AppendJSON(nil, made)))+fmt.Sprint(len(groups[name]))] = made
		} else {
			state[name] = made
		}
	}
	return ranked(state, groups)
}

// templateHash and revisionHash are the labels with the hash of a ReplicaSet's template and of a
// ControllerRevision, which are parts of names. The same template has another hash if the name that
// follows from it was taken, by an object that was about to go: then a collision is counted.
const (
	templateHash = "pod-template-hash"
	revisionHash = "controller-revision-hash"
)

func (c *canon) learnHash(o *unstructured.Unstructured) {
	labels := o.GetLabels()
	for _, label := range []string{templateHash, revisionHash} {
		hash := "-" + labels[label][strings.LastIndexByte(labels[label], '-')+1:] // that of a StatefulSet's Pod is a name
		if hash != "-" && !slices.Contains(c.hashes, hash) {
			c.hashes = append(c.hashes, hash)
		}
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		return []byte(err.Error())
	}
	return b
}

// ranked names objects with generated names by their rank among those alike.
func ranked(state map[string]any, groups map[string][]string) map[string]any {
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		rank := 0
		for _, long := range slices.Sorted(maps.Keys(state)) {
			if strings.HasPrefix(long, group+"{") {
				rank++
				state[fmt.Sprintf("%s#%d", group, rank)] = state[long]
				delete(state, long)
			}
		}
	}
	return state
}

// isOldReplicaSet reports whether a ReplicaSet is only there for a rollback.
func isOldReplicaSet(o *unstructured.Unstructured) bool {
	replicas, given := object.Int64(o.Object, "spec", "replicas")
	return o.GetKind() == "ReplicaSet" && given && replicas == 0 && len(o.GetOwnerReferences()) > 0
}

// isProvisioned reports whether an object is one that each Namespace has, of the API server's
// choosing.
func isProvisioned(o *unstructured.Unstructured) bool {
	return o.GetKind() == "ServiceAccount" && o.GetName() == namespaces.ServiceAccount || o.GetKind() == "ConfigMap" && o.GetName() == namespaces.ConfigMap
}

// learn takes in the uid and the name of an object.
func (c canon) learn(o *unstructured.Unstructured) {
	if prefix := o.GetGenerateName(); prefix != "" && strings.HasPrefix(o.GetName(), prefix) && !isOrdinal(o.GetName()[len(prefix):]) {
		c.names[o.GetName()] = c.text(prefix) + "?"
	}
	if base, ok := strings.CutSuffix(o.GetName(), "-"+o.GetLabels()[templateHash]); ok {
		c.names[o.GetName()] = base + "-?"
	}
	c.uids[string(o.GetUID())] = "uid of " + o.GetKind() + " " + c.place(o)
}

func isOrdinal(s string) bool { return strings.Trim(s, "0123456789") == "" }

// place is namespace/name, without what was generated.
func (c canon) place(o *unstructured.Unstructured) string {
	return o.GetNamespace() + "/" + c.text(o.GetName())
}

// object returns a comparable copy.
func (c canon) object(o *unstructured.Unstructured) map[string]any {
	current := o.GetGeneration()
	made, _ := c.value(o.Object, current).(map[string]any)
	if metadata, ok := made["metadata"].(map[string]any); ok {
		delete(metadata, "uid")
		metadata["name"] = c.text(o.GetName())
	}
	if status, ok := made["status"].(map[string]any); ok && o.GetKind() == "Pod" && status["phase"] == "Failed" {
		// How far it had come when it failed depends on when.
		made["status"] = map[string]any{"phase": status["phase"], "reason": status["reason"]}
	}
	return made
}

func (c canon) value(given any, generation int64) any {
	switch v := given.(type) {
	case map[string]any:
		made := make(map[string]any, len(v))
		for k, e := range v {
			switch observed, _ := object.ToInt64(e); {
			case unstable[k] || c.ignore[k]:
			case k == "observedGeneration":
				made[k] = observed == generation
			default:
				made[k] = c.value(e, generation)
			}
			if k == "conditions" {
				made[k] = byType(made[k])
			}
		}
		return made
	case []any:
		made := make([]any, len(v))
		for i := range v {
			made[i] = c.value(v[i], generation)
		}
		return made
	case string:
		if text := c.text(v); text != v {
			return text
		}
	}
	return given
}

// byType sorts conditions: their order means nothing.
func byType(v any) any {
	if list, ok := v.([]any); ok {
		slices.SortStableFunc(list, func(a, b any) int { return cmp.Compare(conditionType(a), conditionType(b)) })
	}
	return v
}

func conditionType(v any) string {
	condition, _ := v.(map[string]any)
	text, _ := object.String(condition, "type")
	return text
}

// text replaces what was generated: uids, names and times.
func (c canon) text(s string) string {
	switch {
	case c.names[s] != "":
		return c.names[s]
	case c.uids[s] != "":
		return c.uids[s]
	case isUID(s):
		return "uid of what is gone"
	case len(s) > 36 && isUID(s[len(s)-36:]):
		return s[:len(s)-36] + c.text(s[len(s)-36:])
	case len(s) >= 20 && s[4] == '-' && s[10] == 'T' && s[len(s)-1] == 'Z':
		return "a time"
	}
	for _, hash := range c.hashes {
		if s == hash[1:] {
			return "hash"
		}
		s = strings.ReplaceAll(s, hash, "-hash")
	}
	return s
}

func isUID(s string) bool {
	return len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-'
}

// maxDifferences is how many lines a difference has.
const maxDifferences = 12

// difference returns the kind of the first object that differs, and what differs.
func difference(twin, here map[string]any) (kind string, lines []string) {
	twin, here = withoutEqual(twin, here), withoutEqual(here, twin)
	all := maps.Clone(twin)
	maps.Copy(all, here)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, there := twin[name]
		b, isHere := here[name]
		alike, generated, _ := strings.Cut(name, "#")
		var found []string
		switch {
		case !there && generated != "":
			found = []string{alike + ": the twin has one less"}
		case !isHere && generated != "":
			found = []string{alike + ": the twin has one more"}
		case !there:
			found = []string{name + ": the twin has none"}
		case !isHere:
			found = []string{name + ": only the twin has it"}
		default:
			found = differ(name+":", a, b, nil)
		}
		if len(found) > 0 && kind == "" {
			kind, _, _ = strings.Cut(name, " ")
		}
		lines = append(lines, found...)
	}
	if len(lines) > maxDifferences {
		lines = append(lines[:maxDifferences], fmt.Sprintf("and %d more", len(lines)-maxDifferences))
	}
	return kind, lines
}

// withoutEqual returns a state in which objects with generated names are left out for which the other state has
// an equal one, whatever their ranks. The others are ranked again: they are paired by order.
func withoutEqual(state, other map[string]any) map[string]any {
	equal, ranks, rest := map[string]int{}, map[string]int{}, map[string]any{}
	for name, o := range other {
		if alike, rank, _ := strings.Cut(name, "#"); rank != "" {
			equal[alike+string(must(object.AppendJSON(nil, o)))]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(state)) {
		alike, rank, _ := strings.Cut(name, "#")
		if rank == "" {
			rest[name] = state[name]
			continue
		}
		text := alike + string(must(object.AppendJSON(nil, state[name])))
		if equal[text]--; equal[text] < 0 {
			ranks[alike]++
			rest[fmt.Sprintf("%s#%d", alike, ranks[alike])] = state[name]
		}
	}
	return rest
}

// differ returns the paths at which two values differ.
func differ(path string, twin, here any, lines []string) []string {
	a, ok := twin.(map[string]any)
	b, both := here.(map[string]any)
	if !ok || !both {
		if !object.DeepEqual(twin, here) {
			lines = append(lines, fmt.Sprintf("%s twin %s, here %s", path, object.Readable(twin), object.Readable(here)))
		}
		return lines
	}
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, k := range slices.SortedFunc(maps.Keys(all), cmp.Compare[string]) {
		lines = differ(path+"."+k, a[k], b[k], lines)
	}
	return lines
}
