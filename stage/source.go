package stage

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// A Source is Stage definitions together with their origin. It also holds the faults that were
// found while reading. [Compile] reports them with its own faults, so that a user sees all faults
// at once.
//
// A Source is immutable and safe for concurrent use. A caller must not change the results of its
// methods, because the Source shares them.
type Source struct {
	definitions []definition
	others      []*unstructured.Unstructured
	documents   []*position.Document // of others
	faults      []*Error
	empty       []*Error // the named paths without Stages, for Compile
	more        []*Error // the number of further faults of each file
}

// A definition is one Stage and the document it was read from, if any.
type definition struct {
	stage v1alpha1.Stage
	doc   *position.Document // nil if the Stage did not come from text
}

// Parse reads Stages from YAML or JSON text: any number of documents, each an object or a List of
// objects. Errors use name for the text. Parse itself cannot fail: faults go to [Source.Errors] and
// to [Compile].
func Parse(name string, data []byte) Source {
	var r reader
	position.Each(name, data, func(doc *position.Document) {
		r.document(doc, listed{})
		doc.Release()
	}, func(f position.Located) {
		if fault := (&Error{Position: Position(f.Position), Path: f.Path, Err: f.Err}); r.count.keep(fault) {
			r.source.faults = append(r.source.faults, fault)
		}
	})
	for _, d := range r.source.definitions {
		d.doc.Release() // an item of a list
	}
	for _, d := range r.source.documents {
		d.Release()
	}
	r.source.more = r.count.more(name)
	return r.source
}

// Load reads files, and the files below directories that end in .yaml, .yml or .json, in the order
// of their names. It returns the first error of the file system, and then no Source. [Compile]
// reports a path without Stages as a fault.
func Load(paths ...string) (Source, error) {
	var all Source
	for _, p := range paths {
		s, err := loadPath(p)
		if err != nil {
			return Source{}, err
		}
		all = all.with(s.named(p))
	}
	return all, nil
}

func loadPath(p string) (Source, error) {
	info, err := os.Stat(p)
	if err != nil {
		return Source{}, err
	}
	if info.IsDir() {
		return loadFS(os.DirFS(p), ".", func(name string) string { return filepath.Join(p, filepath.FromSlash(name)) })
	}
	data, err := os.ReadFile(p)
	if err != nil {
		return Source{}, err
	}
	return Parse(p, data), nil
}

// loadFS reads the file root, or the Stage files below the directory root. Display gives the name
// that errors print.
func loadFS(fsys fs.FS, root string, display func(string) string) (Source, error) {
	var all Source
	err := fs.WalkDir(fsys, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name != root && !isManifest(name) {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		if err == nil {
			all = all.with(Parse(display(name), data))
		}
		return err
	})
	if err != nil {
		return Source{}, err
	}
	return all, nil
}

func isManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}

// FromStages makes a Source of Stages that did not come from text. Its faults have paths but no
// positions. The caller must not change the Stages afterwards.
func FromStages(stages ...v1alpha1.Stage) Source {
	var s Source
	for _, st := range stages {
		s.definitions = append(s.definitions, definition{stage: st})
	}
	return s
}

// Stages returns the Stages that were read, including Stages with faults.
func (s Source) Stages() []v1alpha1.Stage {
	stages := make([]v1alpha1.Stage, len(s.definitions))
	for i, d := range s.definitions {
		stages[i] = d.stage
	}
	return stages
}

// Locate returns the place of a field of the i-th of [Source.Stages], such as
// spec.next.statusTemplate, or of the byte at an offset in its text; the offset -1 means the whole
// field. It is zero if the Stage did not come from text.
func (s Source) Locate(i int, path string, offset int) Position {
	return locate(s.definitions[i].doc, "", &position.Error{Path: path, Offset: offset}).Position
}

// OtherObjects returns the objects that are not Stages, in the order of the files. An item of a typed List,
// such as a PodList, gets the kind and version of the List if it names no kind.
func (s Source) OtherObjects() []*unstructured.Unstructured { return slices.Clone(s.others) }

// LocateOther returns the place of a field of the i-th of [Source.OtherObjects], such as
// spec.replicas, or of the nearest field around it that the text has.
func (s Source) LocateOther(i int, path string) Position {
	return Position(s.documents[i].Locate(&position.Error{Path: path, Offset: position.AtKey}))
}

// Duplicates returns a fault for each field that the text of the i-th of [Source.OtherObjects] has
// twice. The object has the last one.
func (s Source) Duplicates(i int) (faults Errors) {
	for _, e := range s.documents[i].Duplicates() {
		faults = append(faults, &Error{Position: s.LocateOther(i, e.Path), Path: e.Path, Err: e.Err})
	}
	return faults
}

// Errors returns the faults of the text: syntax, unknown fields, values of the wrong type.
// [Compile] finds more. A file has at most 100 errors and 100 warnings; one last fault counts the
// others.
func (s Source) Errors() Errors { return slices.Concat(s.faults, s.more) }

func (s Source) with(more Source) Source {
	return Source{
		definitions: append(s.definitions, more.definitions...),
		others:      append(s.others, more.others...),
		documents:   append(s.documents, more.documents...),
		faults:      append(s.faults, more.faults...),
		empty:       append(s.empty, more.empty...),
		more:        append(s.more, more.more...),
	}
}

// named returns the Source of a path that the user named. The path should have Stages.
func (s Source) named(path string) Source {
	if len(s.definitions)+len(s.faults) > 0 {
		return s
	}
	found := "nothing"
	if len(s.others) > 0 {
		found = "only " + s.others[0].GetKind()
	}
	s.empty = []*Error{{
		Position: Position{File: path}, lenient: true,
		Err: fmt.Errorf("no Stages; want apiVersion: %s, kind: %s; there is %s", apiVersion, v1alpha1.Kind, found),
	}}
	return s
}

// reader sorts documents into Stages, other objects and faults.
type reader struct {
	source Source
	count  faultCount
}

// A listed is what a typed List, such as a PodList, says of its items that do not name their kind; zero
// for other objects.
type listed struct{ apiVersion, kind string }

// document reads one object.
func (r *reader) document(doc *position.Document, of listed) {
	m, ok := doc.Value.(map[string]any)
	if !ok {
		r.fault(doc, "", &position.Error{Path: "document", Offset: -1, Err: errors.New("want an object")})
		return
	}
	obj := &unstructured.Unstructured{Object: m}
	kind := cmp.Or(obj.GetKind(), of.kind)
	group, _, _ := strings.Cut(obj.GetAPIVersion(), "/")
	switch {
	case kind == "":
		r.fault(doc, "", &position.Error{Path: "kind", Offset: -1, Warning: true, Err: errors.New("missing")})
	case kind == v1alpha1.Kind && isStage(group, m):
		r.stage(doc, obj)
	case group == v1alpha1.Group && strings.EqualFold(strings.TrimSuffix(strings.ToLower(kind), "s"), v1alpha1.Kind):
		r.fault(doc, obj.GetName(), &position.Error{Path: "kind", Offset: -1, Err: fmt.Errorf("unknown kind %q; want %s", kind, v1alpha1.Kind)})
	case strings.HasSuffix(kind, "List") && m["items"] != nil:
		r.list(doc, m["items"], listed{obj.GetAPIVersion(), strings.TrimSuffix(kind, "List")})
	default:
		if obj.GetKind() == "" {
			obj.SetAPIVersion(of.apiVersion)
			obj.SetKind(kind)
		}
		r.source.others, r.source.documents = append(r.source.others, obj), append(r.source.documents, doc)
	}
}

// apiVersion is the apiVersion of Stages.
const apiVersion = v1alpha1.Group + "/" + v1alpha1.Version

// isStage reports whether an object of kind Stage is a kwok Stage. kwok looks only at the kind, but
// other projects also have a kind Stage.
func isStage(group string, m map[string]any) bool {
	spec, _ := m["spec"].(map[string]any)
	return group == "" || strings.HasSuffix(group, v1alpha1.Group) || spec["resourceRef"] != nil || spec["next"] != nil
}

func (r *reader) list(doc *position.Document, items any, of listed) {
	list, ok := items.([]any)
	if !ok {
		r.fault(doc, "", &position.Error{Path: "items", Offset: -1, Err: errors.New("want a list")})
	}
	for i, item := range list {
		r.document(doc.Sub(position.Index("items", i), item), of)
	}
}

func (r *reader) stage(doc *position.Document, obj *unstructured.Unstructured) {
	d := definition{doc: doc}
	faults := doc.Decode(&d.stage)
	if given := obj.GetAPIVersion(); given != apiVersion {
		faults = append(faults, &position.Error{Path: "apiVersion", Offset: -1, Warning: given == "", Err: errors.New("want " + apiVersion)})
	}
	for _, e := range faults {
		r.fault(doc, d.stage.Name, e)
	}
	r.source.definitions = append(r.source.definitions, d)
}

func (r *reader) fault(doc *position.Document, name string, e *position.Error) {
	if fault := (&Error{Err: e.Err, lenient: e.Warning}); r.count.keep(fault) {
		r.source.faults = append(r.source.faults, locate(doc, name, e))
	}
}

// locate gives a fault its place in the file.
func locate(doc *position.Document, name string, e *position.Error) *Error {
	fault := &Error{Stage: name, Path: e.Path, Err: e.Err, lenient: e.Warning}
	if doc != nil {
		fault.Position = Position(doc.Locate(e))
	}
	return fault
}
