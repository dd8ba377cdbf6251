// Package report writes the results of a simulation: tables as text, or tables and charts as one
// HTML page without other files, with light or dark colors as the reader prefers. gonum.org/v1/plot
// draws the charts.
//
// # Usage
//
//	r := report.Report{Title: "Small jobs", Sections: []report.Section{{
//		Tables: []report.Table{{Head: []string{"jobs", "seconds"}, Rows: [][]string{{"1", "23"}}}},
//		Charts: []report.Chart{report.CDF("latency", "Scheduling latency", samples...)},
//	}}}
//	err := r.WriteText(os.Stdout)
//	err = r.WriteHTML(file)
//	err = r.WritePlots("plots") // plots/latency.svg, plots/latency.png and plots/latency.csv
//
// # Determinism
//
// The same Report is written as the same bytes.
package report
