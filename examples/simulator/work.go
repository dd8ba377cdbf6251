package main

import (
	"bytes"
	"context"
	_ "embed"
	"text/template"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

//go:embed work.yaml
var workYAML string

var templates = template.Must(template.New("work").Parse(workYAML))

// create creates the object of a template of work.yaml, with its status.
func (l *lab) create(ctx context.Context, template string, of any) error {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, template, of); err != nil {
		return err
	}
	return l.Cluster().Load(ctx, b.Bytes())
}

// object returns the object of a template.
func object(template string, of any) (obj map[string]any, err error) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, template, of); err != nil {
		return nil, err
	}
	data, err := yaml.YAMLToJSON(b.Bytes())
	if err != nil {
		return nil, err
	}
	return obj, json.Unmarshal(data, &obj) // whole numbers as int64, as objects have them
}

// A job is a Job that a study submits.
type job struct {
	Name  string
	Pods  int
	GPUs  int // of each Pod
	Sleep time.Duration
	Gang  bool // its Pods are bound together
}

// A submitFunc submits a job to the cluster.
type submitFunc func(ctx context.Context, l *lab, j job) error

// submitJob creates the Job.
func submitJob(ctx context.Context, l *lab, j job) error { return l.create(ctx, "job", j) }

// submitQueued creates an AppWrapper, from which the queue creates the Job.
func submitQueued(ctx context.Context, l *lab, j job) error { return l.wrap(ctx, j, "job") }

// submitQueuedGang creates an AppWrapper of the Job and of the PodGroup of its Pods.
func submitQueuedGang(ctx context.Context, l *lab, j job) error {
	j.Gang = true
	return l.wrap(ctx, j, "gang", "job")
}

func (l *lab) wrap(ctx context.Context, j job, templates ...string) error {
	var items []any
	for _, name := range templates {
		obj, err := object(name, j)
		if err != nil {
			return err
		}
		items = append(items, map[string]any{"replicas": int64(1), "generictemplate": obj})
	}
	wrapper := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "default", "name": j.Name},
		"spec":     map[string]any{"resources": map[string]any{"GenericItems": items}},
	}}
	wrapper.SetGroupVersionKind(wrapperKind)
	_, err := l.Cluster().Create(ctx, wrapper, metav1.CreateOptions{})
	return err
}
