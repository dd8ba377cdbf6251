package openb

import (
	"strconv"

	"github.com/stagecraft-go/stagecraft/stage/lab/load"
)

// A PublishedRun identifies a published run.
type PublishedRun struct {
	Policy string
	Seed   int64
}

// FirstSeed is the first of the ten seeds with which the runs were published.
const FirstSeed = 42

// ReadPublished reads the published results of the trace, for some arrived shares in per cent: tune
// 1.3, Placed and Failed are not published. The slices of a Result are as long as needed, with zeros
// in between.
func ReadPublished(folder string, arrived ...int) (map[PublishedRun]*Result, error) {
	all := map[PublishedRun]*Result{}
	columns := load.Columns{Untimed: true, Numbers: []string{"seed"}}
	for _, r := range arrived {
		columns.Numbers = append(columns.Numbers, strconv.Itoa(r))
	}
	for _, file := range []struct {
		name string
		of   func(*Result) *[]float64
	}{
		{"analysis_allo_discrete.csv", func(r *Result) *[]float64 { return &r.Allocation }},
		{"analysis_frag_discrete.csv", func(r *Result) *[]float64 { return &r.Fragmentation }},
	} {
		rows, err := readFile(folder, "experiments/analysis/expected_results", file.name, columns)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if row.Text["workload"] != "openb_pod_list_default" || row.Text["tune"] != "1.3" {
				continue
			}
			key := PublishedRun{row.Text["sc_policy"], int64(row.Numbers["seed"])}
			if all[key] == nil {
				all[key] = &Result{}
			}
			values := make([]float64, int(100*tuning)+1)
			for _, r := range arrived {
				values[r] = row.Numbers[strconv.Itoa(r)]
			}
			*file.of(all[key]) = values
		}
	}
	return all, nil
}
