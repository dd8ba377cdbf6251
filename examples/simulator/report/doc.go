// Package report writes what a simulation has shown: tables as text, and tables with charts as one HTML page that needs nothing else, in light
// or dark as the reader prefers. The charts are drawn by gonum.org/v1/plot.
//
// # Usage
//
//	r := report.Report{Title: "Small jobs", Sections: []report.Section{{
//		Tables: []report.Table{{Head: []string{"jobs", "seconds"}, Rows: [][]string{{"1", "23"}}}},
//		Charts: []report.Chart{report.CDF("latency", "Scheduling latency", samples...)},
//	}}}
//	err := r.WriteText(os.Stdout)
//	err = r.WriteHTML(file)
//	err = r.WritePlots("plots") // plots/latency.svg and plots/latency.png
//
// # Determinism
//
// The same Report is written as the same bytes.
package report
