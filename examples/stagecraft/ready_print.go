package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/statuses"
)

// printTable prints a line for each object, then the explanations.
func printTable(w io.Writer, verdicts []statuses.Verdict, explain bool) error {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "KIND\tNAME\tSTATUS\tREASON\tMESSAGE")
	for _, v := range verdicts {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", statuses.Clean(v.Object.GetKind()), statuses.Clean(v.Name()), status(v), cmp.Or(statuses.Clean(v.Reason), "-"), statuses.Clean(v.Message()))
	}
	err := table.Flush()
	for _, v := range verdicts {
		if explain && err == nil {
			_, err = fmt.Fprintf(w, "\n%s %s\n%s", statuses.Clean(v.Object.GetKind()), statuses.Clean(v.Name()), indent(v.Why()))
		}
	}
	return err
}

// status returns the status of an object, and whether it is paused.
func status(v statuses.Verdict) string {
	if v.Suspended {
		return string(v.Status) + " (suspended)"
	}
	return string(v.Status)
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("  " + statuses.Clean(line) + "\n")
	}
	return b.String()
}

// rowsOf returns verdicts as data.
func rowsOf(verdicts []statuses.Verdict, explain bool) []statuses.Row {
	rows := make([]statuses.Row, len(verdicts))
	for i, v := range verdicts {
		rows[i] = v.Row()
		if explain {
			rows[i].Explanation = v.Why()
		}
	}
	return rows
}
