package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

// recorded are the kinds that are recorded.
var recorded = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Node"},
	{Version: "v1", Kind: "Pod"},
	{Group: "batch", Version: "v1", Kind: "Job"},
}

// A recording records the changes in a cluster. It only reads.
type recording struct {
	cluster  *kube.Cluster
	recorder *record.Recorder
	tell     func(error)

	mutex sync.Mutex // keeps the times of the log in order
	began time.Time
}

// newRecording returns a recording whose records go to sink.
func newRecording(cluster *kube.Cluster, sink func(record.Record) error, tell func(error)) *recording {
	recorder := record.New(record.Options{Sink: sink, WatchDelay: watchDelay})
	return &recording{cluster: cluster, recorder: recorder, tell: tell, began: time.Now()}
}

// watchDelay is the longest delay of the watch event of a Stage.
const watchDelay = 10 * time.Second

// run records until ctx is done. It returns the error of the first list, or of the sink.
func (r *recording) run(ctx context.Context) error {
	versions, err := r.begin(ctx)
	if err != nil {
		return err
	}
	var kinds []func(context.Context) error
	for _, kind := range recorded {
		kinds = append(kinds, func(ctx context.Context) error { return r.follow(ctx, kind, versions[kind]) })
	}
	return together(ctx, kinds...)
}

// begin records the existing objects, all at one time, because the log does not know their real
// start. It returns the versions from which to watch.
func (r *recording) begin(ctx context.Context) (map[schema.GroupVersionKind]string, error) {
	versions := map[schema.GroupVersionKind]string{}
	lists := map[schema.GroupVersionKind][]unstructured.Unstructured{}
	for _, kind := range recorded {
		list, err := r.cluster.List(ctx, kind, "", metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		versions[kind], lists[kind] = list.GetResourceVersion(), list.Items
	}
	return versions, r.note(func(now time.Time) error {
		var errs []error
		for _, kind := range recorded {
			errs = append(errs, r.recorder.Sync(kind, lists[kind], now))
		}
		return errors.Join(errs...)
	})
}

// note records a change that happens now. The recorded time never goes back, even if the clock is
// changed.
func (r *recording) note(what func(now time.Time) error) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return what(r.began.Add(time.Since(r.began)))
}

// follow watches a kind, and lists it again when a watch has failed.
func (r *recording) follow(ctx context.Context, kind schema.GroupVersionKind, version string) error {
	for ctx.Err() == nil {
		if version == "" {
			list, err := r.cluster.List(ctx, kind, "", metav1.ListOptions{})
			if err != nil {
				r.failed(ctx, err)
				continue
			}
			if err := r.note(func(now time.Time) error { return r.recorder.Sync(kind, list.Items, now) }); err != nil {
				return err
			}
			version = list.GetResourceVersion()
		}
		var err error
		if version, err = r.watch(ctx, kind, version); err != nil {
			return err
		}
	}
	return nil
}

// watch records one watch. It returns the version at which to continue, or "" if the watch failed.
// The error is the error of the sink.
func (r *recording) watch(ctx context.Context, kind schema.GroupVersionKind, version string) (string, error) {
	watcher, err := r.cluster.Watch(ctx, kind, "", metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
	if err != nil {
		r.failed(ctx, err)
		return "", nil
	}
	defer watcher.Stop()
	for e := range watcher.ResultChan() {
		obj, ok := e.Object.(*unstructured.Unstructured)
		if !ok {
			r.failed(ctx, fmt.Errorf("watch %s: %v", kind.Kind, e.Object))
			return "", nil
		}
		version = obj.GetResourceVersion()
		if err := r.note(func(now time.Time) error { return r.recorder.Observe(e, now) }); err != nil {
			return "", err
		}
	}
	return version, nil
}

// failed reports a failure and waits a second.
func (r *recording) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	r.tell(err)
	select {
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
}

// A logFile is a new file with a log. It is written record by record, so that it is complete up to
// the moment at which the program ends.
type logFile struct {
	file   *os.File
	writer *record.Writer
}

// createLog creates the file, which must not exist: a recording can be the work of hours.
func createLog(name string) (*logFile, error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("-record: %w", err)
	}
	return &logFile{file, record.NewJSONLWriter(file)}, nil
}

func (l *logFile) write(r record.Record) error {
	return errors.Join(l.writer.Write(r), l.writer.Flush())
}

// recordCluster records the cluster of a kubeconfig until ctx is done, and changes nothing there.
func recordCluster(ctx context.Context, o options, stderr io.Writer) error {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("-kubeconfig %s: %w", o.kubeconfig, err)
	}
	cluster, err := kube.NewForConfig(config)
	if err != nil {
		return err
	}
	log, err := createLog(o.record)
	if err != nil {
		return err
	}
	tell := &lines{out: stderr}
	fmt.Fprintf(tell, "# recording Nodes, Pods and Jobs to %s until Ctrl-C\n", o.record)
	r := newRecording(cluster, log.write, func(err error) { fmt.Fprintf(tell, "# trying again: %q\n", err.Error()) })
	return errors.Join(r.run(ctx), log.file.Close())
}
