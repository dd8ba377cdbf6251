// Readiness tells whether objects are ready, from what kubectl prints of them: no cluster is asked.
//
//	kubectl get deployments,pods -o yaml | go run ./examples/readiness
//	go run ./examples/readiness -profile extended -explain web.yaml
//	go run ./examples/readiness -o json web.yaml db.yaml
//
// It exits with 0 if all objects are Current, 1 if one is not, 2 if it cannot tell: by its flags or by what it reads, or because there is
// no object. Objects that are among the input explain each other, such as the Pods of a Deployment.
//
// This file shows how package kstatus is embedded. The others are what a command has beside it: text.go reads YAML and JSON, read.go the objects in
// them, shelf.go finds objects among them, print.go prints.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main with all that it depends on. It returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	verdicts, err := o.judge(stdin)
	if err == nil {
		err = o.print(stdout, verdicts)
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "readiness:", strings.ReplaceAll(err.Error(), "\n", "\nreadiness: "))
		return 2
	case slices.ContainsFunc(verdicts, func(v verdict) bool { return v.Status != kstatus.Current }):
		return 1
	}
	return 0
}

// A verdict is a result with the object that it is about, and how it came about.
type verdict struct {
	kstatus.Result
	obj      *unstructured.Unstructured
	explain  kstatus.Explanation
	children []kstatus.Child
}

// judge reads all objects and judges each, in the light of the others.
func (o options) judge(stdin io.Reader) ([]verdict, error) {
	objects, err := readAll(o.files, stdin)
	if err != nil {
		return nil, err
	}
	rules, now := profiles[o.profile], time.Now()
	var verdicts []verdict
	for _, obj := range objects {
		// The error is of look-ups, and all that a shelf has is at hand.
		result, children, _ := rules.Inspect(context.Background(), shelf(objects), obj, now)
		verdicts = append(verdicts, verdict{Result: result, obj: obj, explain: rules.Explain(obj, now), children: children})
	}
	return verdicts, nil
}
