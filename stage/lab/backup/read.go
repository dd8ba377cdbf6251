package backup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Options of [Read] and [ReadFiles]. The zero value is the default.
type Options struct {
	// BlankSecrets empties the values of Secrets, and removes the annotation that repeats them. The
	// keys stay, so that Pods that refer to them still start.
	BlankSecrets bool
	// Kinds are kinds of objects in addition to the built-in kinds of package memory and to the
	// kinds whose definitions the files have.
	Kinds []memory.Kind
}

// ReadFiles reads files as one Backup, see [Read].
func ReadFiles(o Options, paths ...string) (*Backup, error) {
	r := newReader(o)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		r.read(path, data)
	}
	return r.backup()
}

// Read reads a Backup in its own format, or in the formats of kubectl get -o json and -o yaml. Errors
// and omissions use name for the text. The error names every fault of the text with its place; then
// there is no Backup.
func Read(name string, from io.Reader, o Options) (*Backup, error) {
	data, err := io.ReadAll(from)
	if err != nil {
		return nil, err
	}
	r := newReader(o)
	r.read(name, data)
	return r.backup()
}

// An item is an object and its place in a file.
type item struct {
	*unstructured.Unstructured
	at stage.Position
}

// A reader collects the items of files.
type reader struct {
	options Options
	items   []item
	seen    int               // objects, also the ones that are not kept
	byUID   map[types.UID]int // their places in items
	result  Backup
	faults  []error
}

func newReader(o Options) *reader { return &reader{options: o, byUID: map[types.UID]int{}} }

func (r *reader) refuse(at stage.Position, format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf("%s: %w", at, fmt.Errorf(format, args...)))
}

func (r *reader) read(name string, data []byte) {
	before := r.seen
	isYAML := strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] == '{' && !isYAML {
		r.json(name, data)
	} else {
		r.yaml(name, data)
	}
	if r.seen == before && len(r.faults) == 0 && r.result.Time.IsZero() {
		r.refuse(stage.Position{File: name}, "no objects")
	}
}

// A list is what a List says of its items.
type list struct{ apiVersion, kind string }

// object adds an object from its JSON.
func (r *reader) object(raw []byte, from list, at stage.Position) {
	r.seen++
	obj := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(raw, &obj.Object); err != nil {
		r.refuse(at, "%w", err)
		return
	}
	if obj.GetKind() == "" && from.kind != "" { // a typed List as the API has it
		obj.SetAPIVersion(from.apiVersion)
		obj.SetKind(from.kind)
	}
	r.add(obj, at)
}

func (r *reader) add(obj *unstructured.Unstructured, at stage.Position) {
	if fault := identityFault(obj); fault != "" {
		r.refuse(at, "%s", fault)
		return
	}
	if r.options.BlankSecrets {
		blank(obj)
	}
	r.keep(item{obj, at})
}

// identityFault says what an object lacks that every object of a cluster has.
func identityFault(obj *unstructured.Unstructured) string {
	if _, ok := obj.Object["metadata"].(map[string]any); !ok || obj.GetKind() == "" || obj.GetAPIVersion() == "" {
		return "this is no object: it needs apiVersion, kind and metadata"
	}
	name := obj.GetKind() + " " + obj.GetName()
	switch {
	case obj.GetName() == "":
		return obj.GetKind() + ": no metadata.name"
	case hasNoStorage(obj):
		return ""
	case obj.GetUID() == "":
		return name + ": no metadata.uid: it was not read from a cluster; give a manifest to Apply"
	case obj.GetResourceVersion() == "":
		return name + ": no metadata.resourceVersion: it was not read from a cluster; give a manifest to Apply"
	}
	return ""
}

// hasNoStorage reports whether a server computes an object instead of storing it, such as PodMetrics.
func hasNoStorage(obj *unstructured.Unstructured) bool {
	return obj.GetUID() == "" && obj.GetResourceVersion() == "" && (obj.GroupVersionKind().Group == "metrics.k8s.io" || obj.GetKind() == "ComponentStatus")
}

// keep adds an item, or the later version of an object that several files or groups have.
func (r *reader) keep(i item) {
	uid := i.GetUID()
	before, seen := r.byUID[uid]
	switch {
	case uid == "" || !seen:
		r.byUID[uid] = len(r.items)
		r.items = append(r.items, i)
	case isLater(i, r.items[before]):
		r.items[before] = i
	}
}

// backup returns what was read.
func (r *reader) backup() (*Backup, error) {
	if len(r.faults) > 0 {
		return nil, errors.Join(r.faults...)
	}
	known := r.kinds()
	for _, i := range r.items {
		if reason := known.whyNot(i); reason != "" {
			r.result.Omissions = append(r.result.Omissions, Omission{i.at, i.GroupVersionKind(), i.GetNamespace(), i.GetName(), reason})
			continue
		}
		r.result.Objects = append(r.result.Objects, i.Unstructured)
	}
	if r.result.Time.IsZero() {
		for _, obj := range r.result.Objects {
			r.result.Time = later(r.result.Time, lastWrite(obj))
		}
	}
	return &r.result, nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b.UTC()
	}
	return a
}
