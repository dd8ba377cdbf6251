package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/examples/simulator/report"
	"github.com/stagecraft-go/stagecraft/stage/lab/sweep"
)

// options are the flags.
type options struct {
	study   string
	seed    uint64
	nodes   int
	jobs    []int
	pods    int
	gap     time.Duration
	size    time.Duration
	log     string
	report  string
	plots   string
	data    string
	objects string
	sweepOptions
}

// sweepOptions are the flags of studies that are sweeps.
type sweepOptions struct {
	seeds, workers        int
	results, merge, table string
	shard                 sweep.Shard
	stop                  *sweep.Stop
}

// A studyDesign is a study that can be run, with the flags that not all studies have.
type studyDesign struct {
	flags    []string
	defaults map[string]string
	run      func(context.Context, options, *studyClock) (*report.Report, error)
}

var studies = map[string]studyDesign{
	"small-jobs": {append([]string{"nodes", "seed", "jobs", "log"}, sweepFlags...), map[string]string{"nodes": "4", "jobs": "1,10,20,50,75,100", "seeds": "5"}, smallJobs},
	"gpu":        {append([]string{"nodes", "seed", "jobs", "pods", "gap", "size", "log", "objects"}, sweepFlags...), map[string]string{"nodes": "2", "jobs": "100", "pods": "1", "seeds": "10"}, gpu},
	"queues":     {sweepFlags, map[string]string{"seeds": "10"}, knownQueues},
	"kueue":      {append(sweepFlags, "data"), map[string]string{"seeds": "10"}, kueueStudy},
	"coverage":   {sweepFlags, map[string]string{"seeds": "5"}, coverage},
	"openb":      {append([]string{"data"}, sweepFlags...), map[string]string{"seeds": "10"}, openbStudy},
	"scale":      {[]string{"nodes", "seed", "pods"}, map[string]string{"nodes": "1000", "pods": "100000"}, scale},
}

// common are the flags of all studies.
var common = []string{"study", "report", "plots"}

// parse reads the flags. If it returns an error it has already printed it.
func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := define(&o)
	flags.SetOutput(stderr)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	err := setDefaults(flags, &o)
	if err == nil {
		err = o.check(flags.Args())
	}
	if err != nil {
		fmt.Fprintln(stderr, "simulator:", strings.ReplaceAll(err.Error(), "\n", "\nsimulator: "))
	}
	return o, err
}

func define(o *options) *flag.FlagSet {
	flags := flag.NewFlagSet("simulator", flag.ContinueOnError)
	flags.StringVar(&o.study, "study", "small-jobs", "which `study` to run: "+strings.Join(names(), ", "))
	flags.Uint64Var(&o.seed, "seed", 1, "decides all that is random")
	flags.IntVar(&o.nodes, "nodes", 0, "how many nodes (default small-jobs: 4, gpu: 2, scale: 1000)")
	flags.IntVar(&o.pods, "pods", 0, "gpu: Pods of each Job (default 1); scale: Pods in all (default 100000)")
	flags.DurationVar(&o.gap, "gap", 50*time.Second, "gpu: mean time between Jobs")
	flags.DurationVar(&o.size, "size", 60*time.Second, "gpu: mean time that a Job sleeps")
	flags.StringVar(&o.log, "log", "", "write all transitions to this `file`, .jsonl or .csv; each run has its name put into that of the file")
	flags.StringVar(&o.objects, "objects", "", "gpu: write a row for each Job to this `file` as CSV; each run has its name put into that of the file")
	flags.StringVar(&o.report, "report", "", "write a page to this `file`, which needs nothing else")
	flags.StringVar(&o.plots, "plots", "", "write each chart as SVG and PNG into this `folder`")
	flags.StringVar(&o.data, "data", "../../../shared/data", "kueue: the `folder` that has kueue/baseline.generator.yaml, large-scale.generator.yaml and tas.generator.yaml; openb: one that has the published files, in openb or as in a clone of their repository")
	flags.IntVar(&o.seeds, "seeds", 0, "how many seeds a sweep has (default gpu, queues, kueue, openb: 10, coverage: 5)")
	flags.IntVar(&o.workers, "workers", 0, "how many runs of a sweep go on at once (default: as many as there are cores)")
	flags.StringVar(&o.results, "results", "", "keep the results of a sweep in this `file`, a JSON object per line, and go on where it ends")
	flags.StringVar(&o.merge, "merge", "", "read the results of a sweep from these `files` with commas between, and run nothing")
	flags.StringVar(&o.table, "table", "", "write the results of a sweep to this `file` as CSV")
	flags.Func("shard", "run the part `i/n` of a sweep: 0/n to n-1/n", func(text string) (err error) {
		o.shard, err = sweep.ParseShard(text)
		return err
	})
	flags.Func("stop", "end a point of a sweep before all -seeds when the 95 % interval of the mean of a metric is narrow enough, as `METRIC=HALF`: wait=0.1 is ± 0.1 in its unit, wait=5% is 5 % of the mean", func(text string) (err error) {
		o.stop, err = parseStop(text)
		return err
	})
	flags.Func("jobs", "how many Jobs; small-jobs takes a `list` of numbers (default 1,10,20,50,75,100; gpu: 100)", func(list string) (err error) {
		o.jobs, err = counts(list)
		return err
	})
	return flags
}

// parseStop reads METRIC=HALF or METRIC=PER CENT%.
func parseStop(text string) (*sweep.Stop, error) {
	metric, bound, ok := strings.Cut(text, "=")
	number, relative := strings.CutSuffix(bound, "%")
	v, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(v > 0) {
		return nil, fmt.Errorf("%q: want METRIC=0.1 or METRIC=5%%", text)
	}
	if relative {
		return &sweep.Stop{Metric: metric, Relative: v / 100}, nil
	}
	return &sweep.Stop{Metric: metric, Half: v}, nil
}

func names() []string { return slices.Sorted(maps.Keys(studies)) }

// setDefaults sets the defaults of the study, and refuses flags that the study does not have.
func setDefaults(flags *flag.FlagSet, o *options) error {
	d, known := studies[o.study]
	if !known {
		return fmt.Errorf("-study %s: want %s", o.study, strings.Join(names(), ", "))
	}
	given := map[string]bool{}
	var errs []error
	flags.Visit(func(f *flag.Flag) {
		given[f.Name] = true
		if !slices.Contains(common, f.Name) && !slices.Contains(d.flags, f.Name) {
			errs = append(errs, fmt.Errorf("-%s is not for -study %s", f.Name, o.study))
		}
	})
	for name, value := range d.defaults {
		if !given[name] {
			errs = append(errs, flags.Set(name, value))
		}
	}
	return errors.Join(errs...)
}

// counts reads numbers separated by commas.
func counts(list string) (all []int, err error) {
	for _, word := range strings.Split(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no number above 0", word)
		}
		all = append(all, n)
	}
	return all, nil
}

// maxCount is more than any machine can simulate.
const maxCount = 10_000_000

func (o options) check(rest []string) error {
	var errs []error
	refuse := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	_, pods := studies[o.study].defaults["pods"]
	_, nodes := studies[o.study].defaults["nodes"]
	_, seeds := studies[o.study].defaults["seeds"]
	refuse(len(rest) > 0, "unknown argument %q", strings.Join(rest, " "))
	refuse(nodes && (o.nodes < 1 || o.nodes > maxCount), "-nodes %d: want at least 1", o.nodes)
	refuse(pods && (o.pods < 1 || o.pods > maxCount), "-pods %d: want at least 1", o.pods)
	refuse(seeds && (o.seeds < 1 || o.seeds > maxCount), "-seeds %d: want at least 1", o.seeds)
	refuse(o.workers < 0 || o.workers > maxCount, "-workers %d: want at least 1", o.workers)
	refuse(o.shard.Count > 1 && o.results == "", "-shard %s: want -results as well", o.shard)
	refuse(o.merge != "" && (o.results != "" || o.shard.Count > 0), "-merge runs nothing: want neither -results nor -shard")
	refuse(o.gap <= 0, "-gap %s: want more than 0", o.gap)
	refuse(o.size <= 0, "-size %s: want more than 0", o.size)
	refuse(o.study == "gpu" && o.pods > o.nodes, "-pods %d: a Job may ask for %d GPUs, and %d nodes have %d", o.pods, o.pods*gpusPerNode, o.nodes, o.nodes*gpusPerNode)
	refuse(o.study == "gpu" && len(o.jobs) != 1, "-jobs: -study gpu takes one number")
	refuse(o.log != "" && !strings.HasSuffix(o.log, ".jsonl") && !strings.HasSuffix(o.log, ".csv"), "-log %s: want a name that ends in .jsonl or .csv", o.log)
	return errors.Join(errs...)
}
