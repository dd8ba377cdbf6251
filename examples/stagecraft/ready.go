package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/statuses"
	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
)

// A readiness is the flags of ready.
type readiness struct {
	*connection
	output, profile, basis, goal *string
	names                        []string // files that name objects of the cluster
	selector                     string
	everywhere                   bool
	wait, explain, audit, noWait bool
	failFast                     bool
	timeout                      time.Duration
}

// bases are the values of --basis.
var bases = map[string]kstatus.Basis{
	"any": 0, "words": kstatus.BasisWords, "convention": kstatus.BasisConvention, "kind": kstatus.BasisKind,
}

var profiles = map[string]*kstatus.Rules{"extended": kstatus.Extended(), "standard": kstatus.Standard()}

// goals are the values of --for.
var goals = map[string]kstatus.Status{"current": kstatus.Current, "deleted": kstatus.NotFound, "failed": kstatus.Failed}

func readyCommand() *cobra.Command {
	var o readiness
	c := &cobra.Command{
		Use:   "ready [FILE | TYPE | TYPE/NAME]...",
		Short: "Look whether objects are ready, or wait until they are, and say why not",
		Long: `Look whether objects are ready, or wait until they are, and say why not.

FILE is YAML or JSON as kubectl get -o yaml prints it: its name ends in .yaml, .yml
or .json, begins with . or /, or is - for standard input, the default if standard
input is not a terminal. The status of its objects is judged as the file has it.
Children in the same input, such as the Pods of a Deployment, also count.

TYPE and TYPE/NAME are those of kubectl. With them, or with -f FILE, which names
objects, the objects are read from the cluster of the kubeconfig.

Exit codes: 0 all objects are ready, 1 an object is not, 2 no answer.`,
		Example: `  kubectl get deployments,pods -o yaml | stagecraft ready
  stagecraft ready web.yaml --explain
  stagecraft ready --wait -f web.yaml --timeout 2m
  kubectl ready deploy/web pods -l app=web
  kubectl get ovens --watch -o yaml | stagecraft ready --audit crd.yaml -`,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args) },
	}
	flags := c.Flags()
	flags.StringSliceVarP(&o.names, "filename", "f", nil, "read the objects that this `file` names from the cluster; may be repeated")
	flags.BoolVarP(&o.wait, "wait", "w", false, "wait until the objects of the cluster are ready, and show the progress on standard error")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "with --wait: how long")
	flags.BoolVar(&o.failFast, "fail-fast", false, "with --wait: end with the first object that has failed")
	o.goal = addChoice(c, "for", "", "with --wait: what for", "current", "deleted", "failed")
	o.basis = addChoice(c, "basis", "", "with --wait: what Current must rest on", "any", "words", "convention", "kind")
	o.profile = addChoice(c, "profile", "", "rules; standard: exactly those of upstream kstatus", "extended", "standard")
	flags.BoolVar(&o.explain, "explain", false, "print which rules were tried, and what they saw")
	flags.BoolVar(&o.noWait, "honor-no-wait", false, "objects with an annotation that says not to wait for them are ready")
	flags.BoolVar(&o.audit, "audit", false, "say for each CustomResourceDefinition in the files what tools see of the other objects of its kind, as Markdown")
	o.output = addOutput(c, "text", "json", "yaml")
	o.connection = addConnection(c)
	flags.StringVarP(&o.namespace, "namespace", "n", "", "`namespace` of the objects of the cluster (default: that of the context)")
	flags.BoolVarP(&o.everywhere, "all-namespaces", "A", false, "the objects of a TYPE in all namespaces")
	flags.StringVarP(&o.selector, "selector", "l", "", "the objects of a TYPE with these `labels`")
	return c
}

func (o *readiness) run(c *cobra.Command, args []string) error {
	files := slices.Clone(args)
	files = slices.DeleteFunc(files, func(arg string) bool { return !isFile(arg) })
	ofCluster := len(o.names) > 0 || len(args) > len(files)
	switch {
	case ofCluster && len(files) > 0:
		return usage("%s is a file, and the other objects are those of a cluster; use -f %s for the objects that it names", files[0], files[0])
	case o.wait && !ofCluster:
		return usage("--wait needs a cluster: name a TYPE, a TYPE/NAME, or -f FILE")
	case o.audit && ofCluster:
		return usage("--audit needs files with a definition and recorded objects")
	case o.wait:
		return o.waitFor(c, args)
	case ofCluster:
		return o.look(c, args)
	case len(files) == 0 && isTerminal(c.InOrStdin()):
		return usage("name a FILE, a TYPE, or a TYPE/NAME")
	case len(files) == 0:
		files = []string{"-"}
	}
	return o.judgeFiles(c, files)
}

// judgeFiles prints the status of the objects of files. It also prints the status of the sound objects of a
// faulty input.
func (o *readiness) judgeFiles(c *cobra.Command, files []string) error {
	sound, faults := readManifests(files, c.InOrStdin(), false)
	var objects []*unstructured.Unstructured
	for _, m := range sound {
		objects = append(objects, m.Unstructured)
	}
	if faults == nil && o.audit {
		return auditAll(objects, c.OutOrStdout())
	}
	if len(objects) == 0 {
		return faults
	}
	err := o.print(c.OutOrStdout(), o.judge(c.Context(), statuses.Objects(objects), objects))
	return cmp.Or(faults, err)
}

// look prints the status of objects of a cluster.
func (o *readiness) look(c *cobra.Command, args []string) error {
	cluster, refs, err := o.refs(c, args)
	if err != nil {
		return err
	}
	var objects []*unstructured.Unstructured
	var missing []error
	for _, ref := range refs {
		obj, err := cluster.Get(c.Context(), ref.Kind, nameOf(ref))
		if err != nil {
			missing = append(missing, fmt.Errorf("%s: %w", ref, err))
			continue
		}
		objects = append(objects, obj)
	}
	return cmp.Or(errors.Join(missing...), o.print(c.OutOrStdout(), o.judge(c.Context(), cluster, objects)))
}

// waitFor waits until objects of a cluster are ready, and shows the progress: on a terminal a line for each
// object that changes in place, elsewhere a line for each change.
func (o *readiness) waitFor(c *cobra.Command, args []string) error {
	ctx, cancel := context.WithTimeout(c.Context(), o.timeout)
	defer cancel()
	cluster, refs, err := o.refs(c, args)
	if err != nil {
		return err
	}
	var last *wait.Collector
	err = wait.For(ctx, cluster, refs, wait.Policy{
		Options: wait.Options{Rules: o.rules()}, Goal: wait.Goal{Status: goals[*o.goal], Basis: bases[*o.basis]},
		FailFast: o.failFast, IgnoreSuspended: true, Report: newReporter(c.ErrOrStderr()),
		Observe: func(c *wait.Collector, _ wait.State) { last = c },
	})
	if last != nil {
		if err := o.printSummary(c.OutOrStdout(), last); err != nil {
			return err
		}
	}
	var unfinished *wait.Error
	if errors.As(err, &unfinished) {
		fmt.Fprintln(c.ErrOrStderr(), c.Root().Name()+":", unfinished.Cause)
		return errNo
	}
	return err
}

func (o *readiness) rules() *kstatus.Rules { return profiles[*o.profile].HonorNoWait(o.noWait) }

// judge computes the status of each object, with others as possible children.
func (o *readiness) judge(ctx context.Context, others kstatus.Reader, objects []*unstructured.Unstructured) []statuses.Verdict {
	return statuses.Judge(ctx, o.rules(), others, time.Now(), objects...)
}

// print prints verdicts. The error is the answer no unless all are Current.
func (o *readiness) print(w io.Writer, verdicts []statuses.Verdict) (err error) {
	if *o.output == "text" {
		err = printTable(w, verdicts, o.explain)
	} else {
		err = encode(w, *o.output, rowsOf(verdicts, o.explain))
	}
	if err == nil && slices.ContainsFunc(verdicts, func(v statuses.Verdict) bool { return v.Status != kstatus.Current }) {
		return errNo
	}
	return err
}

// printSummary prints how a wait has ended.
func (o *readiness) printSummary(w io.Writer, c *wait.Collector) error {
	if *o.output == "text" {
		_, err := fmt.Fprintln(w, c.Summary(time.Now()))
		return err
	}
	rows := []statuses.Row{}
	for s := range c.States() {
		rows = append(rows, statuses.Row{APIVersion: s.Ref.Kind.GroupVersion().String(), Kind: s.Ref.Kind.Kind, Namespace: s.Ref.Namespace, Name: s.Ref.Name,
			Status: string(s.Result.Status), Reason: s.Result.Reason, Message: s.Result.Message(), Field: s.Result.Field(), Basis: s.Result.Basis.String(),
			Suspended: s.Result.Suspended, Terminal: s.Result.Terminal})
	}
	return encode(w, *o.output, rows)
}
