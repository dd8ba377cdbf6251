package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/stages"
	"github.com/stagecraft-go/stagecraft/stage/lab/fit"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

// recorded are the kinds that are recorded.
var recorded = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Node"},
	{Version: "v1", Kind: "Pod"},
	{Group: "batch", Version: "v1", Kind: "Job"},
}

func recordCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "record LOG",
		Short: "Record what happens on a cluster to Nodes, Pods and Jobs, for fit",
		Long: `Record what happens on a cluster to Nodes, Pods and Jobs, until Ctrl-C.

It only reads from the cluster. LOG is a new file: .jsonl, or .csv. It is complete up
to the moment at which the program ends.`,
		Example: `  stagecraft record cluster.jsonl
  stagecraft fit cluster.jsonl -o yaml > stages.yaml`,
		Args: cobra.ExactArgs(1),
	}
	connection := addConnection(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		cluster, err := connection.cluster()
		if err != nil {
			return err
		}
		file, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) // a recording can be the work of hours
		if err != nil {
			return err
		}
		log := record.NewJSONLWriter(file)
		if filepath.Ext(args[0]) == ".csv" {
			log = record.NewCSVWriter(file)
		}
		recorder := record.New(record.Options{Sink: func(r record.Record) error { return errors.Join(log.Write(r), log.Flush()) }})
		fmt.Fprintf(c.ErrOrStderr(), "stagecraft: recording to %s until Ctrl-C\n", args[0])
		trace := &traceWriter{err: c.ErrOrStderr()}
		return errors.Join(recorder.Watch(c.Context(), cluster, trace.failed, recorded...), file.Close())
	}
	return c
}

func fitCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "fit LOG",
		Short: "Make Stages whose delays are those of a recorded cluster",
		Long: `Make Stages whose delays are those of a recorded cluster.

LOG is what stagecraft record has written: .jsonl, or .csv. It prints each transition
with its samples, its quantiles and how well they fit; -o yaml prints the Stages.`,
		Example: `  stagecraft fit cluster.jsonl
  stagecraft fit cluster.jsonl -o yaml > stages.yaml`,
		Args: cobra.ExactArgs(1),
	}
	var o fit.Options
	in := addInput(c, false)
	var files []string
	c.Flags().StringSliceVar(&files, "stages", nil, "fit the Stages of this `file` where the log names them; may be repeated")
	c.Flags().IntVar(&o.Least, "least", 0, "how many samples a transition needs (default 30)")
	c.Flags().BoolVar(&o.Complete, "complete", false, "the log has all objects from their creation on")
	output := addOutput(c, "text", "yaml", "json")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(files)+len(in.presets) > 0 {
			read, err := in.read(files, c.InOrStdin())
			if err != nil {
				return err
			}
			o.Stages = read.Sources
		}
		result, err := fitLog(args[0], o)
		if err != nil {
			return err
		}
		return printFit(c.OutOrStdout(), *output, result)
	}
	return c
}

func fitLog(name string, o fit.Options) (*fit.Result, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	read := record.ReadJSONL
	if filepath.Ext(name) == ".csv" {
		read = record.ReadCSV
	}
	result, err := fit.Fit(read(name, file), o)
	if err != nil {
		return nil, faultyInput{err}
	}
	return result, nil
}

// A fitted is a transition of a log as data.
type fitted struct {
	Kind      string            `json:"kind"`
	From      string            `json:"from"`
	To        string            `json:"to"`
	Stage     string            `json:"stage,omitempty"`
	Samples   int               `json:"samples"`
	NotFitted string            `json:"notFitted,omitempty"`
	Distance  float64           `json:"distance,omitempty"`
	Quantiles map[string]string `json:"quantiles,omitempty"`
}

func printFit(w io.Writer, output string, r *fit.Result) error {
	switch output {
	case "text":
		_, err := io.WriteString(w, r.String())
		return err
	case "yaml":
		text, err := r.YAML()
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	}
	all := []fitted{}
	for _, t := range r.Transitions {
		one := fitted{Kind: t.Kind, From: t.From, To: t.To, Stage: t.Fitted, Samples: t.Samples, NotFitted: t.NotFitted, Distance: t.Distance}
		if t.Fitted != "" {
			one.Quantiles = map[string]string{}
			for _, q := range stages.Quantiles {
				one.Quantiles[q.Name] = t.Quantile(q.Share).String()
			}
		}
		all = append(all, one)
	}
	return encode(w, "json", all)
}
