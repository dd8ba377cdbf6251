package fit

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/printable"
)

// String prints a table of the transitions, and the samples that each state has lost.
func (r *Result) String() string {
	var b strings.Builder
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "transition\tsamples\tp50\tp90\tdistance\tby chance\tstage")
	for _, t := range r.Transitions {
		name := t.Kind + " " + t.From + " → " + t.To
		if t.Stage != "" {
			name += " by " + t.Stage
		}
		fmt.Fprintf(out, "%s\t%d\t%s\n", printable.Text(name), t.Samples, t.columns())
	}
	_ = out.Flush() // a Builder takes everything
	for _, s := range r.States {
		if s.CutOff+s.Unknown > 0 {
			fmt.Fprintf(&b, "%s: %d left, %d cut off by the end of the log, %d entered before it began\n", printable.Text(s.Kind+" "+s.Name), s.Left, s.CutOff, s.Unknown)
		}
	}
	return b.String()
}

func (t Transition) columns() string {
	if len(t.quantiles) == 0 {
		return "\t\t\t\tnot fitted: " + printable.Text(t.NotFitted)
	}
	name := printable.Text(t.Fitted)
	if name == "" {
		name = "none: " + printable.Text(t.NotFitted)
	}
	short := func(part float64) time.Duration { return t.Quantile(part).Round(time.Millisecond) }
	return fmt.Sprintf("%s\t%s\t%.3f\t%.3f\t%s", short(.5), short(.9), t.Distance, t.Chance, name)
}

// YAML returns the Stages as text that stage.Load reads. They need Extensions in the Options of
// stage.Compile.
func (r *Result) YAML() ([]byte, error) {
	var b bytes.Buffer
	for _, s := range r.Stages {
		text, err := yaml.Marshal(s)
		if err != nil {
			return nil, err
		}
		b.WriteString("---\n")
		b.Write(text)
	}
	return b.Bytes(), nil
}
