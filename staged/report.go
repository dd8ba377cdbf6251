package staged

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/staged/control"
)

// reportsFromRows reads who reported when from a table whose rows name their cluster and the time
// of its last report, as a collector selects them with inventory.name and
// propagation.lastReturnedUpdateTimestamp. It is false if there is no such table. When the workload
// was bound is not in the table.
func reportsFromRows(s *control.CombinedStatus, destinations []control.Destination) ([]ClusterReport, bool) {
	known := map[string]bool{}
	for _, d := range destinations {
		known[d.ClusterID] = true
	}
	for _, r := range s.Results {
		names := columnOf(r, func(v control.Value) bool { return v.String != nil && known[*v.String] })
		times := columnOf(r, func(v control.Value) bool { return !timeOf(v).IsZero() })
		if names < 0 || times < 0 {
			continue
		}
		var all []ClusterReport
		for _, row := range r.Rows {
			at := timeOf(row.Columns[times])
			all = append(all, ClusterReport{Cluster: *row.Columns[names].String, Reported: at.Unix() > 0, LastReturned: at})
		}
		return all, true
	}
	return nil, false
}

// columnOf returns the first column of which every cell matches; -1 if there is none.
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

// timeOf returns the time in a cell; zero if there is none. KubeStellar writes a time as an Object
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
