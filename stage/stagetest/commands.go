package stagetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/itchyny/gojq"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A command is one command of the story language.
type command struct {
	usage     string
	min, max  int  // number of arguments; the last one is the rest of the line
	isSetting bool // it must come before the commands that change or print something
	run       func(s *story, args []string) error
}

var commands = map[string]command{
	"seed":       {"seed NUMBER", 1, 1, true, (*story).seed},
	"start":      {"start TIME", 1, 1, true, (*story).start},
	"stages":     {"stages FILE...", 1, 1, true, (*story).addStages},
	"lenient":    {"lenient", 0, 0, true, (*story).lenient},
	"extensions": {"extensions", 0, 0, true, (*story).extensions},
	"kind":       {"kind GROUP/VERSION KIND [cluster]", 2, 3, true, (*story).addKind},

	"apply":      {"apply FILE", 1, 1, false, (*story).apply},
	"patch":      {"patch KIND NAME YAML|FILE", 3, 3, false, (*story).patch},
	"status":     {"status KIND NAME YAML|FILE", 3, 3, false, (*story).patchStatus},
	"delete":     {"delete KIND NAME", 2, 2, false, (*story).delete},
	"advance":    {"advance DURATION", 1, 1, false, (*story).advance},
	"settle":     {"settle [DURATION]", 0, 1, false, (*story).settle},
	"show":       {"show KIND NAME [JQ]", 2, 3, false, (*story).show},
	"candidates": {"candidates KIND NAME", 2, 2, false, (*story).candidates},
}

func (s *story) seed(args []string) (err error) {
	s.simulation.Seed, err = strconv.ParseUint(args[0], 0, 64)
	return err
}

func (s *story) start(args []string) (err error) {
	s.simulation.Start, err = time.Parse(time.RFC3339, args[0])
	return err
}

func (s *story) addStages(args []string) error {
	for _, name := range strings.Fields(args[0]) {
		data, err := s.read(name)
		if err != nil {
			return err
		}
		s.sources = append(s.sources, stage.Parse(name, data))
	}
	return nil
}

func (s *story) lenient([]string) error {
	s.options.Compile.Lenient = true
	return nil
}

func (s *story) extensions([]string) error {
	s.options.Compile.Extensions = true
	return nil
}

func (s *story) addKind(args []string) error {
	gv, err := schema.ParseGroupVersion(args[0])
	if err != nil {
		return err
	}
	k := memory.Kind{GroupVersionKind: gv.WithKind(args[1]), Status: true, ClusterScoped: len(args) == 3}
	if k.ClusterScoped && args[2] != "cluster" {
		return fmt.Errorf("%q is not cluster", args[2])
	}
	s.simulation.Kinds = append(s.simulation.Kinds, k)
	return nil
}

// apply creates the objects of a file, or updates them to the content of the file. A status that
// the file does not mention stays.
func (s *story) apply(args []string) error {
	data, err := s.read(args[0])
	if err != nil {
		return err
	}
	source := stage.Parse(args[0], data)
	if faults := source.Errors(); len(faults) > 0 {
		return faults
	}
	if len(source.OtherObjects()) == 0 {
		return fmt.Errorf("%s holds no object", args[0])
	}
	for _, obj := range source.OtherObjects() {
		err := s.put(obj)
		if apierrors.IsNotFound(err) {
			return unknownKind(err)
		}
		s.addKindName(obj.GroupVersionKind())
		s.reportAnswer(err)
	}
	return nil
}

func (s *story) put(obj *unstructured.Unstructured) error {
	ctx, cluster := context.Background(), s.sim.Cluster()
	name := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if name.Namespace == "" {
		name.Namespace = metav1.NamespaceDefault
	}
	old, err := cluster.Get(ctx, obj.GroupVersionKind(), name)
	if apierrors.IsNotFound(err) {
		return cluster.Load(ctx, toJSON(obj.Object))
	}
	if err != nil {
		return err
	}
	obj = obj.DeepCopy()
	obj.SetNamespace(old.GetNamespace())
	obj.SetResourceVersion(old.GetResourceVersion())
	updated, err := cluster.Update(ctx, obj, metav1.UpdateOptions{})
	if status, given := obj.Object["status"]; err == nil && given && !reflect.DeepEqual(status, updated.Object["status"]) {
		updated.Object["status"] = status
		_, err = cluster.Update(ctx, updated, metav1.UpdateOptions{}, "status")
	}
	return err
}

func (s *story) patch(args []string) error {
	return s.merge(args, func(body any) any { return body })
}

func (s *story) patchStatus(args []string) error {
	return s.merge(args, func(body any) any { return map[string]any{"status": body} }, "status")
}

// merge sends a merge patch, which wrap makes of the YAML.
func (s *story) merge(args []string, wrap func(any) any, subresources ...string) error {
	kind, name, err := s.ref(args[0], args[1])
	if err != nil {
		return err
	}
	body, err := s.value(args[2])
	if err != nil {
		return err
	}
	_, err = s.sim.Cluster().Patch(context.Background(), kind, name, types.MergePatchType, toJSON(wrap(body)), metav1.PatchOptions{}, subresources...)
	s.reportAnswer(err)
	return nil
}

func (s *story) delete(args []string) error {
	kind, name, err := s.ref(args[0], args[1])
	if err != nil {
		return err
	}
	s.reportAnswer(s.sim.Cluster().Delete(context.Background(), kind, name, metav1.DeleteOptions{}))
	return nil
}

func (s *story) advance(args []string) error {
	d, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	if d < 0 {
		return errors.New("time does not go back")
	}
	return s.sim.Advance(context.Background(), d)
}

func (s *story) settle(args []string) (err error) {
	longest := 10 * time.Minute
	if len(args) == 1 {
		longest, err = time.ParseDuration(args[0])
	}
	if err != nil {
		return err
	}
	settled, err := s.sim.Settle(context.Background(), longest)
	if next, more := s.sim.Next(); more && !settled {
		s.trace.line(s.sim.Now(), "not settled, next in %s", short(next.Sub(s.sim.Now())))
	} else {
		s.trace.line(s.sim.Now(), "settled")
	}
	return err
}

func (s *story) show(args []string) error {
	obj, err := s.get(args)
	if obj == nil || err != nil {
		return err
	}
	if len(args) == 3 {
		return s.query(obj, args[2])
	}
	for _, noise := range []string{"managedFields", "resourceVersion", "uid"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", noise)
	}
	s.trace.block("", toYAML(obj.Object))
	return nil
}

// query prints the results of a jq expression on the whole object.
func (s *story) query(obj *unstructured.Unstructured, text string) error {
	q, err := gojq.Parse(text)
	if err != nil {
		return err
	}
	var input any
	if err := json.Unmarshal(toJSON(obj.Object), &input); err != nil {
		return err
	}
	for outputs := q.Run(input); ; {
		v, more := outputs.Next()
		if err, failed := v.(error); failed {
			return err
		}
		if !more {
			return nil
		}
		s.trace.block("", toYAML(v))
	}
}

// get returns an object, or prints that it does not exist.
func (s *story) get(args []string) (*unstructured.Unstructured, error) {
	kind, name, err := s.ref(args[0], args[1])
	if err != nil {
		return nil, err
	}
	obj, err := s.sim.Cluster().Get(context.Background(), kind, name)
	if apierrors.IsNotFound(err) {
		s.trace.block("", "not found")
		return nil, nil
	}
	return obj, err
}

// candidates prints the Stages that match an object, as a table.
func (s *story) candidates(args []string) error {
	obj, err := s.get(args)
	if obj == nil || err != nil {
		return err
	}
	w := tabwriter.NewWriter(&s.trace.text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "stage\tchance\tweight\tdelay")
	for _, c := range s.set.Candidates(obj, s.sim.Now()) {
		weight := "none"
		if c.Weighted {
			weight = strconv.FormatInt(c.Weight, 10)
		}
		fmt.Fprintf(w, "%s\t%.4g%%\t%s\t%s\n", c.Stage, 100*c.Probability, weight, c.Delay)
	}
	return w.Flush()
}

// value reads YAML in braces, or the YAML of a file.
func (s *story) value(text string) (v any, err error) {
	data := []byte(text)
	if text[0] != '{' {
		if data, err = s.read(text); err != nil {
			return nil, err
		}
	}
	return v, yaml.Unmarshal(data, &v)
}

func (s *story) read(name string) ([]byte, error) {
	if f := file(s.archive, name); f != nil {
		return f.Data, nil
	}
	return nil, fmt.Errorf("the story has no file %q", name)
}
