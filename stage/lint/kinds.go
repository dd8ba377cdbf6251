package lint

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/position"
)

// metadataFields are all fields that metadata can have.
var metadataFields = strings.Fields(`name generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp
	deletionGracePeriodSeconds labels annotations ownerReferences finalizers managedFields`)

//go:generate go run -C ../../internal/dev/bench ./patch/genfields ../../../stage/lint/fields.go

// A fieldTable lists the fields of an object, of its spec and of its status; nil if they are not known.
type fieldTable struct{ top, spec, status []string }

// checkFields looks for an unknown field at the beginning of a path. It returns the length of the
// path up to and including the field, and the field that the author probably intended. It is false
// if no field is wrong, or if that is not certain: new Kubernetes versions add fields to spec and
// status, so an unknown field there is reported only if a known one has a similar name.
func checkFields(kind schema.GroupVersionKind, fields []string) (n int, meant string, wrong bool) {
	if len(fields) == 0 {
		return 0, "", false
	}
	table, builtin := knownFields[kind.GroupKind()]
	if builtin && !slices.Contains(table.top, fields[0]) {
		return 1, position.Nearest(fields[0], table.top), true
	}
	if len(fields) == 1 {
		return 0, "", false
	}
	names := map[string][]string{"metadata": metadataFields, "spec": table.spec, "status": table.status}[fields[0]]
	if len(names) == 0 || slices.Contains(names, fields[1]) {
		return 0, "", false
	}
	meant = position.Nearest(fields[1], names)
	return 2, meant, meant != "" || fields[0] == "metadata"
}

// enumerations are the possible values of fields of built-in kinds, by path.
var enumerations = map[schema.GroupKind]map[string]string{
	{Kind: "Pod"}: {
		`."status"."phase"`:       "Pending Running Succeeded Failed Unknown",
		`."status"."qosClass"`:    "Guaranteed Burstable BestEffort",
		`."spec"."restartPolicy"`: "Always OnFailure Never",
	},
	{Kind: "Node"}:                  {`."status"."phase"`: "Pending Running Terminated"},
	{Kind: "Namespace"}:             {`."status"."phase"`: "Active Terminating"},
	{Kind: "PersistentVolumeClaim"}: {`."status"."phase"`: "Pending Bound Lost"},
	{Kind: "PersistentVolume"}:      {`."status"."phase"`: "Pending Available Bound Released Failed"},
}

// valuesOf returns the values that a path can lead to on objects of a kind. It is false if they are
// not known. The status of a condition, of any kind, is True, False or Unknown.
func valuesOf(kind schema.GroupVersionKind, p path) ([]string, bool) {
	if list, ok := enumerations[kind.GroupKind()][p.String()]; ok {
		return strings.Fields(list), true
	}
	condition := len(p) > 3 && p[0].field == "status" && p[1].field == "conditions" && p[2].each && p[len(p)-1].field == "status"
	return []string{"True", "False", "Unknown"}, condition && (len(p) == 4 || len(p) == 5 && p[3].where["type"] != "")
}
