package kstatus

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A KindRule is what the rules of [Extended] know of a kind.
type KindRule struct {
	Kind   schema.GroupKind // as in [Rules.With]: "*" stands for all kinds, "*.example.com" for groups
	Source string           // the projects whose API documentation the rule follows, or "upstream"
	Reads  []string         // the fields that the rule asks for, in no certain order of importance
	Always bool             // an object of the kind is Current as soon as it exists
}

// Kinds returns the kinds for which [Extended] has a rule, by group and kind. All others are left to
// the general rules. [Rules.Without] takes rules out, and [Rules.With] puts others before them.
func Kinds() (out []KindRule) {
	for _, t := range extendedTables {
		for kind, rule := range join(t.kinds) {
			out = append(out, KindRule{Kind: kind, Source: t.source, Reads: fieldsOf(kind, rule)})
		}
	}
	for kind := range statusless {
		out = append(out, KindRule{Kind: kind, Source: "no status", Always: true})
	}
	slices.SortStableFunc(out, func(a, b KindRule) int {
		return cmp.Or(cmp.Compare(a.Kind.Group, b.Kind.Group), cmp.Compare(a.Kind.Kind, b.Kind.Kind), cmp.Compare(a.Source, b.Source))
	})
	return slices.CompactFunc(out, func(a, b KindRule) bool { return a.Kind == b.Kind && a.Source == b.Source })
}

// Without returns rules without those of the profile for some kinds, and for the kinds and groups
// that a "*" names, as in [Kinds]. The general rules then decide. Rules of [Rules.With] stay.
func (r *Rules) Without(kinds ...schema.GroupKind) *Rules {
	out := *r
	out.table = r.table.clone()
	for _, kind := range kinds {
		suffix, isSuffix := strings.CutPrefix(kind.Group, "*")
		switch {
		case isSuffix:
			delete(out.suffixes[suffix], schema.GroupKind{Kind: kind.Kind})
		case kind.Kind == anyKind:
			delete(out.groups, schema.GroupKind{Group: kind.Group})
		default:
			delete(out.kinds, kind)
		}
	}
	return &out
}

// An extendedTable is a table of kinds and the projects that it is about.
type extendedTable struct {
	source string
	kinds  kindTable
}

// extendedTables are the tables of the profile Extended.
var extendedTables = []extendedTable{
	{"Argo, GitOps Promoter", argo},
	{"Kueue, JobSet, LeaderWorkerSet, KubeRay and other batch", batch},
	{"cert-manager", certManager},
	{"Crossplane, Config Connector, ACK, Azure, Pulumi", cloud},
	{"Cluster API, Karpenter, Karmada, OLM, OpenShift", clusters},
	{"databases and storage", data},
	{"Flux", flux},
	{"OpenKruise", kruise},
	{"Gateway API, Knative, Istio, Gloo", network},
	{"Gardener, OpenShift, Chaos Mesh, Portworx", operators},
	{"secrets, monitoring", platform},
	{"KEDA, Flagger, KubeVirt, KServe, Spark, Flink, Tekton", workloads},
	{"Kubernetes", builtinWorkloads},
	{"Kubernetes", builtinOthers},
	{"known to report a status", reporters},
}

// customTables returns the tables of custom resources, all but the last three.
func customTables() (tables []kindTable) {
	for _, t := range extendedTables[:len(extendedTables)-3] {
		tables = append(tables, t.kinds)
	}
	return tables
}

// fieldsOf returns the fields that a rule reads of objects that say nothing, or little.
func fieldsOf(kind schema.GroupKind, rule Rule) (fields []string) {
	for _, status := range []map[string]any{nil, {"x": "y"}, {"x": "y", "conditions": []any{}}} {
		version := "v1"
		if kind.Group != "" {
			version = strings.ReplaceAll(kind.Group, "*", "x") + "/v1"
		}
		obj := map[string]any{"apiVersion": version, "kind": kind.Kind, "metadata": map[string]any{"generation": int64(1)}}
		if status != nil {
			obj["status"] = status
		}
		o := Object{waitForJobs: true}
		o.read(obj, time.Time{})
		o.trace = &trace{}
		rule(o)
		for _, s := range o.trace.seen {
			if !slices.Contains(fields, s.Path) {
				fields = append(fields, s.Path)
			}
		}
	}
	return fields
}
