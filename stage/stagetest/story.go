package stagetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/txtar"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// A story is an archive that is being played.
type story struct {
	name    string
	archive *txtar.Archive
	options Options
	// options of the simulation
	simulation simulation.Options
	sources    []stage.Source // the files that the command stages names
	set        *stage.Set
	sim        *simulation.Simulation // nil until the first command that is not a setting
	kinds      map[string]schema.GroupVersionKind
	trace      trace
}

func newStory(name string, a *txtar.Archive, o Options) *story {
	s := &story{
		name: name, archive: a, options: o,
		kinds: map[string]schema.GroupVersionKind{},
		simulation: simulation.Options{
			Start: time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC),
			Kinds: slices.Clone(o.Kinds), LivelockLimit: o.LivelockLimit,
		},
	}
	s.simulation.Trace = s.traceEvent
	return s
}

// traceEvent prints an event of the Engine.
func (s *story) traceEvent(e stage.TraceEvent) {
	if a, ok := e.Effect.(stage.Apply); ok {
		s.addKindName(a.Object.GroupVersionKind())
	}
	s.trace.event(e)
}

// errRefused ends a story whose Stages have faults. The faults are its trace.
var errRefused = errors.New("the stages have faults")

// play executes the commands. It returns errors in the story itself; errors that the cluster
// returns are part of the trace.
func (s *story) play() error {
	for i, line := range lines(s.archive.Comment) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if err := s.command(line); errors.Is(err, errRefused) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s:%d: %w", s.name, i+1, err)
		}
	}
	if err := s.setUp(); err != nil && !errors.Is(err, errRefused) {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

// command executes one line. The last argument of a command is the rest of the line.
func (s *story) command(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	c, known := commands[word]
	if !known {
		return fmt.Errorf("unknown command %q", word)
	}
	args := words(rest, c.max)
	if len(args) < c.min || c.max == 0 && rest != "" {
		return fmt.Errorf("usage: %s", c.usage)
	}
	if c.isSetting && s.sim != nil {
		return fmt.Errorf("%s must stand before all commands that do something", word)
	}
	if !c.isSetting {
		if err := s.setUp(); err != nil {
			return err
		}
		fmt.Fprintf(&s.trace.text, "> %s\n", line)
	}
	if err := c.run(s, args); err != nil {
		return fmt.Errorf("%s: %w", word, err)
	}
	return nil
}

// words splits text at spaces into at most n words.
func words(text string, n int) (found []string) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if len(found) == n-1 {
			return append(found, text)
		}
		word, rest, _ := strings.Cut(text, " ")
		found, text = append(found, word), rest
	}
	return found
}

// setUp compiles the Stages and creates the simulation, once.
func (s *story) setUp() (err error) {
	if s.sim != nil {
		return nil
	}
	s.simulation.Definitions = s.definitions()
	s.trace.start = s.simulation.Start
	if s.set, err = stage.Compile(s.options.Compile, s.stages()...); err != nil {
		s.trace.block("", err.Error())
		return errRefused
	}
	if len(s.set.Kinds()) == 0 {
		return errors.New("no Stages: put them into stages.yaml, or name their files by the command stages, or set Options.Stages")
	}
	for _, warning := range s.set.Warnings() {
		s.trace.block("", warning.Error())
	}
	if s.sim, err = simulation.New(s.set, s.simulation); err != nil {
		return unknownKind(err)
	}
	for _, kind := range s.set.Kinds() {
		s.addKindName(kind)
	}
	return nil
}

// unknownKind adds advice to the error that a kind is not found.
func unknownKind(err error) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%w; put its CustomResourceDefinition into the archive, or declare it: kind GROUP/VERSION KIND", err)
	}
	return err
}

// stages are the Stages of the options and of the files of the story, by default of stages.yaml.
func (s *story) stages() []stage.Source {
	if f := file(s.archive, "stages.yaml"); f != nil && len(s.sources) == 0 {
		s.sources = append(s.sources, stage.Parse(f.Name, f.Data))
	}
	return slices.Concat(s.options.Stages, s.sources)
}

// definitions are the CustomResourceDefinitions in all files of the story and in the sources of the
// options.
func (s *story) definitions() (crds []*unstructured.Unstructured) {
	var objs []*unstructured.Unstructured
	for _, source := range s.options.Stages {
		objs = append(objs, source.OtherObjects()...)
	}
	for _, f := range s.archive.Files {
		if f.Name != wantFile {
			objs = append(objs, stage.Parse(f.Name, f.Data).OtherObjects()...)
		}
	}
	for _, obj := range objs {
		if obj.GetKind() == "CustomResourceDefinition" {
			crds = append(crds, obj)
		}
	}
	return crds
}

// addKindName lets commands name a kind: by its name, if no earlier kind has the same name, and by
// name and group, in the format of the trace.
func (s *story) addKindName(kind schema.GroupVersionKind) {
	for _, name := range []string{kind.Kind, kind.GroupKind().String()} {
		if _, taken := s.kinds[name]; !taken {
			s.kinds[name] = kind
		}
	}
}

// ref reads the two words that name an object. Without a namespace it is in the namespace default;
// kinds without namespaces ignore it.
func (s *story) ref(kind, name string) (schema.GroupVersionKind, types.NamespacedName, error) {
	gvk, known := s.kinds[kind]
	if !known {
		return gvk, types.NamespacedName{}, fmt.Errorf("unknown kind %q: neither Stages nor objects so far are of it", kind)
	}
	namespace, rest, found := strings.Cut(name, "/")
	if !found {
		namespace, rest = "default", name
	}
	if namespace == "" || rest == "" || strings.ContainsAny(rest, "/ ") {
		return gvk, types.NamespacedName{}, fmt.Errorf("%q is no name: want NAME or NAMESPACE/NAME", name)
	}
	return gvk, types.NamespacedName{Namespace: namespace, Name: rest}, nil
}

// reportAnswer prints an error of the cluster, which is part of the story, and lets the Stages
// observe the change.
func (s *story) reportAnswer(err error) {
	if err != nil {
		s.trace.line(s.sim.Now(), "error: %s", err)
	}
	s.sim.Next() // Next observes the changes and plays nothing
}
