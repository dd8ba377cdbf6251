package staged

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
)

// reportsFromRows reads who reported when from a table whose rows name their cluster and the time
// of its last report, as a collector selects them with inventory.name and
// propagation.lastReturnedUpdateTimestamp. It is false if there is no such table. When the workload
// was bound is not in the table.
func reportsFromRows(s *control.CombinedStatus, destinations []string) ([]fleet.ClusterReport, bool) {
	known := map[string]bool{}
	for _, d := range destinations {
		known[d] = true
	}
	for _, r := range s.Results {
		names := columnOf(r, func(v control.Value) bool { return v.String != nil && known[*v.String] })
		times := columnOf(r, func(v control.Value) bool { return !timeOf(v).IsZero() })
		if names < 0 || times < 0 {
			continue
		}
		var all []fleet.ClusterReport
		for _, row := range r.Rows {
			at := timeOf(row.Columns[times])
			if at.Unix() > 0 { // one that never reported is left out
				all = append(all, fleet.ClusterReport{Cluster: *row.Columns[names].String, Reported: true, LastReturned: at})
			}
		}
		return all, true
	}
	return nil, false
}

// withoutStatus are the kinds of every cluster whose objects have no status. KubeStellar's agent
// reports the status of an object, and so nothing of these: there is a CombinedStatus, in which the
// returned status of each cluster is empty forever.
var withoutStatus = map[[2]string]bool{
	{"", "configmaps"}: true, {"", "secrets"}: true, {"", "serviceaccounts"}: true, {"", "endpoints"}: true,
	{"", "limitranges"}: true, {"", "podtemplates"}: true, {"", "events"}: true,
	{"rbac.authorization.k8s.io", "roles"}: true, {"rbac.authorization.k8s.io", "rolebindings"}: true,
	{"rbac.authorization.k8s.io", "clusterroles"}: true, {"rbac.authorization.k8s.io", "clusterrolebindings"}: true,
	{"storage.k8s.io", "storageclasses"}: true, {"scheduling.k8s.io", "priorityclasses"}: true,
	{"networking.k8s.io", "networkpolicies"}: true, {"networking.k8s.io", "ingressclasses"}: true,
	{"node.k8s.io", "runtimeclasses"}: true, {"discovery.k8s.io", "endpointslices"}: true,
	{"admissionregistration.k8s.io", "mutatingwebhookconfigurations"}:   true,
	{"admissionregistration.k8s.io", "validatingwebhookconfigurations"}: true,
}

// neverReports reports whether objects of this kind have no status, so that no cluster ever reports
// one: nothing waits for that.
func neverReports(o fleet.ObjectRef) bool { return withoutStatus[[2]string{o.Group, o.Resource}] }

// columnOf returns the first column in which every cell matches; -1 without one.
func columnOf(r control.NamedStatusCombination, matches func(control.Value) bool) int {
	for i := range r.ColumnNames {
		differs := slices.ContainsFunc(r.Rows, func(row control.StatusCombinationRow) bool {
			return i >= len(row.Columns) || !matches(row.Columns[i])
		})
		if len(r.Rows) > 0 && !differs {
			return i
		}
	}
	return -1
}

// timeOf returns the time in a cell; zero without one. KubeStellar writes a time as an Object
// that holds a JSON string, and 1970 for a cluster that has never reported.
func timeOf(v control.Value) time.Time {
	text := ""
	switch {
	case v.String != nil:
		text = *v.String
	case v.Object == nil || json.Unmarshal(v.Object.Raw, &text) != nil:
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return at
}
