package staged

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/staged/control"
)

// rowReports reads who reported when from a table whose rows name their cluster and the time of its last report, as one does that selects inventory.name
// and propagation.lastReturnedUpdateTimestamp. It is false if there is no such table. When the workload was bound is not in it.
func rowReports(s *control.CombinedStatus, destinations []control.Destination) ([]ClusterReport, bool) {
	known := map[string]bool{}
	for _, d := range destinations {
		known[d.ClusterID] = true
	}
	for _, r := range s.Results {
		names := columnOf(r, func(v control.Value) bool { return v.String != nil && known[*v.String] })
		times := columnOf(r, func(v control.Value) bool { return !timeIn(v).IsZero() })
		if names < 0 || times < 0 {
			continue
		}
		var all []ClusterReport
		for _, row := range r.Rows {
			at := timeIn(row.Columns[times])
			all = append(all, ClusterReport{Cluster: *row.Columns[names].String, Reported: at.Unix() > 0, LastReturned: at})
		}
		return all, true
	}
	return nil, false
}

// columnOf is the first column all of whose cells are of a kind; -1 if there is none.
func columnOf(r control.NamedStatusCombination, is func(control.Value) bool) int {
	for i := range r.ColumnNames {
		odd := slices.ContainsFunc(r.Rows, func(row control.StatusCombinationRow) bool { return i >= len(row.Columns) || !is(row.Columns[i]) })
		if len(r.Rows) > 0 && !odd {
			return i
		}
	}
	return -1
}

// timeIn is the time in a cell: KubeStellar gives a JSON string for an object. What never happened is 1970 there.
func timeIn(v control.Value) time.Time {
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
