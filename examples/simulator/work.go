package main

import (
	"bytes"
	"context"
	_ "embed"
	"text/template"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

//go:embed work.yaml
var workYAML string

var templates = template.Must(template.New("work").Parse(workYAML))

// object makes what a template of work.yaml describes.
func object(template string, of any) (*unstructured.Unstructured, error) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, template, of); err != nil {
		return nil, err
	}
	data, err := yaml.YAMLToJSON(b.Bytes())
	if err != nil {
		return nil, err
	}
	var obj unstructured.Unstructured
	return &obj, obj.UnmarshalJSON(data)
}

// create creates what a template describes.
func (l *lab) create(ctx context.Context, template string, of any) error {
	obj, err := object(template, of)
	if err != nil {
		return err
	}
	_, err = l.Cluster().Create(ctx, obj, metav1.CreateOptions{})
	return err
}

// A job is what a study submits.
type job struct {
	Name  string
	Pods  int
	GPUs  int // of each Pod
	Sleep time.Duration
	Gang  bool // its Pods are bound together
}

// A door is how a job enters the cluster.
type door func(ctx context.Context, l *lab, j job) error

// straight creates the Job.
func straight(ctx context.Context, l *lab, j job) error { return l.create(ctx, "job", j) }

// queued creates an AppWrapper, from which the queue creates the Job.
func queued(ctx context.Context, l *lab, j job) error { return l.wrap(ctx, j, "job") }

// queuedGang creates an AppWrapper of the Job and the PodGroup of its Pods.
func queuedGang(ctx context.Context, l *lab, j job) error {
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
		items = append(items, map[string]any{"replicas": int64(1), "generictemplate": obj.Object})
	}
	wrapper := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "default", "name": j.Name},
		"spec":     map[string]any{"resources": map[string]any{"GenericItems": items}},
	}}
	wrapper.SetGroupVersionKind(wrapperKind)
	_, err := l.Cluster().Create(ctx, wrapper, metav1.CreateOptions{})
	return err
}
