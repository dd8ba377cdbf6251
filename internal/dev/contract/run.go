package contract

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"
)

// A scenarioRun is one run of a scenario on a server.
type scenarioRun struct {
	scenario
	t         *testing.T
	server    Server
	namespace string
	given     *unstructured.Unstructured
	gvk       schema.GroupVersionKind
	created   []types.NamespacedName
}

func newScenarioRun(t *testing.T, server Server, namespace string, s scenario) *scenarioRun {
	story := &scenarioRun{scenario: s, t: t, server: server, namespace: namespace}
	story.given = story.parse(s.Object)
	story.gvk = story.given.GroupVersionKind()
	return story
}

func (s *scenarioRun) run() {
	ns := s.parse("{apiVersion: v1, kind: Namespace, metadata: {name: $namespace}}")
	_, err := s.server.Create(s.t.Context(), ns, metav1.CreateOptions{})
	require.NoError(s.t, err)
	defer s.clean()
	check := s.watch()
	for i, step := range s.Steps {
		s.step(fmt.Sprintf("step %d: %s", i+1, step.Verb), step)
	}
	check()
}

// watch begins to watch if the scenario has events, and returns a function that compares the
// events.
func (s *scenarioRun) watch() (check func()) {
	if s.Events == nil {
		return func() {}
	}
	changes, err := s.server.Watch(s.t.Context(), s.gvk, s.namespace, metav1.ListOptions{LabelSelector: s.Label})
	require.NoError(s.t, err)
	return func() {
		defer changes.Stop()
		require.Equal(s.t, s.Events, s.receivedEvents(changes))
	}
}

// receivedEvents reads as many events as are wanted, or the events that arrive within watchTimeout.
func (s *scenarioRun) receivedEvents(changes watch.Interface) (receivedEvents []string) {
	late := time.NewTimer(watchTimeout)
	defer late.Stop()
	for range s.Events {
		select {
		case <-late.C:
			return receivedEvents
		case e := <-changes.ResultChan():
			obj, ok := e.Object.(*unstructured.Unstructured)
			require.True(s.t, ok, "%s %v", e.Type, e.Object)
			receivedEvents = append(receivedEvents, fmt.Sprintf("%s %s", e.Type, obj.GetName()))
		}
	}
	return receivedEvents
}

// watchTimeout is how long a watch may take to report a change.
const watchTimeout = 5 * time.Second

func (s *scenarioRun) step(at string, step step) {
	name := s.nameOf(step)
	before, _ := s.server.Get(s.t.Context(), s.gvk, name)
	result, err := s.do(step, name, before)
	if step.Reason != "" {
		require.Error(s.t, err, at)
		require.Equal(s.t, step.Reason, cmp.Or(apierrors.ReasonForError(err), noReason), "%s: %v", at, err)
		return
	}
	require.NoError(s.t, err, at)
	after, _ := s.server.Get(s.t.Context(), s.gvk, name)
	if step.VersionChanged != nil {
		require.NotNil(s.t, before, at)
		require.NotNil(s.t, after, at)
		require.Equal(s.t, *step.VersionChanged, before.GetResourceVersion() != after.GetResourceVersion(), "%s: whether the version moved", at)
	}
	if result == nil {
		result = after
	}
	s.check(at, string(step.Want), result)
}

func (s *scenarioRun) nameOf(step step) types.NamespacedName {
	name := types.NamespacedName{Namespace: s.given.GetNamespace(), Name: s.given.GetName()}
	if step.Target != "" {
		name.Name = step.Target
	}
	return name
}

// do makes the call of a step. It returns the object to check, or nil if that is the stored object.
func (s *scenarioRun) do(step step, name types.NamespacedName, before *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	body, ctx := s.fill(string(step.Body), before), s.t.Context()
	switch step.Verb {
	case getVerb:
		_, err := s.server.Get(ctx, s.gvk, name)
		return nil, err
	case listVerb:
		return s.list(body)
	case createVerb:
		return s.create(step, body)
	case updateVerb:
		return nil, s.update(step, body, before)
	case deleteVerb:
		var o metav1.DeleteOptions
		require.NoError(s.t, yaml.Unmarshal([]byte(body), &o))
		return nil, s.server.Delete(ctx, s.gvk, name, o)
	}
	data, err := yaml.YAMLToJSON([]byte(body))
	require.NoError(s.t, err)
	o := metav1.PatchOptions{FieldManager: step.Manager, DryRun: dryRun(step.DryRun)}
	if step.Force {
		o.Force = &step.Force
	}
	obj, err := s.server.Patch(ctx, s.gvk, name, patchTypes[step.Verb], data, o, subresources(step.Subresource)...)
	s.recordCreated(obj)
	return nil, err
}

var patchTypes = map[verb]types.PatchType{
	mergeVerb: types.MergePatchType, strategicVerb: types.StrategicMergePatchType, jsonVerb: types.JSONPatchType, applyVerb: types.ApplyPatchType,
}

// create returns the created object if it is not the one of the scenario.
func (s *scenarioRun) create(step step, body string) (*unstructured.Unstructured, error) {
	obj := s.given
	if body != "" {
		obj = s.parse(body)
	}
	obj, err := s.server.Create(s.t.Context(), obj, metav1.CreateOptions{FieldManager: step.Manager, DryRun: dryRun(step.DryRun)})
	if step.DryRun || err != nil {
		return obj, err
	}
	s.recordCreated(obj)
	return obj, nil
}

func (s *scenarioRun) update(step step, body string, before *unstructured.Unstructured) error {
	obj := s.given
	switch {
	case body != "":
		obj = s.parse(body)
	case before != nil:
		obj = before
	}
	_, err := s.server.Update(s.t.Context(), obj, metav1.UpdateOptions{FieldManager: step.Manager, DryRun: dryRun(step.DryRun)}, subresources(step.Subresource)...)
	return err
}

// list reads all pages. It returns the names in the order of the server, and the number of pages.
func (s *scenarioRun) list(body string) (*unstructured.Unstructured, error) {
	var o metav1.ListOptions
	require.NoError(s.t, yaml.Unmarshal([]byte(body), &o))
	names, pages := []any{}, int64(0)
	for {
		page, err := s.server.List(s.t.Context(), s.gvk, s.namespace, o)
		if err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			names = append(names, item.GetName())
		}
		pages++
		if o.Continue = page.GetContinue(); o.Continue == "" {
			return &unstructured.Unstructured{Object: map[string]any{"names": names, "pages": pages}}, nil
		}
	}
}

// check compares the wanted fields with the object.
func (s *scenarioRun) check(at, want string, got *unstructured.Unstructured) {
	if want == "" {
		return
	}
	require.NotNil(s.t, got, at)
	for path, v := range s.parse(want).Object {
		there, _, _ := unstructured.NestedFieldNoCopy(got.Object, strings.Split(path, ".")...)
		if !contains(there, v) {
			require.Equal(s.t, v, there, "%s: %s", at, path)
		}
	}
}

// contains reports whether everything in want is in there. If a value must be absent, an empty
// value is accepted.
func contains(there, want any) bool {
	switch want := want.(type) {
	case nil:
		m, isMap := there.(map[string]any)
		return there == nil || isMap && len(m) == 0
	case map[string]any:
		m, _ := there.(map[string]any)
		for key, v := range want {
			if !contains(m[key], v) {
				return false
			}
		}
		return m != nil
	case []any:
		l, _ := there.([]any)
		for i, v := range want {
			if i >= len(l) || !contains(l[i], v) {
				return false
			}
		}
		return len(l) == len(want)
	}
	return reflect.DeepEqual(there, want)
}

// recordCreated records an object that clean has to delete.
func (s *scenarioRun) recordCreated(obj *unstructured.Unstructured) {
	if obj != nil {
		s.created = append(s.created, types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()})
	}
}

func (s *scenarioRun) clean() {
	for _, name := range s.created {
		_, _ = s.server.Patch(s.t.Context(), s.gvk, name, types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{})
		_ = s.server.Delete(s.t.Context(), s.gvk, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	}
}

// fill replaces the placeholders in a text.
func (s *scenarioRun) fill(text string, before *unstructured.Unstructured) string {
	pairs := []string{"$namespace", s.namespace}
	if before != nil {
		pairs = append(pairs, "$version", before.GetResourceVersion(), "$uid", string(before.GetUID()))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// parse reads an object, with integers as int64.
func (s *scenarioRun) parse(text string) *unstructured.Unstructured {
	data, err := yaml.YAMLToJSON([]byte(s.fill(text, nil)))
	require.NoError(s.t, err, text)
	u := &unstructured.Unstructured{}
	require.NoError(s.t, utiljson.Unmarshal(data, &u.Object), text)
	u.Object = runtime.DeepCopyJSON(u.Object)
	return u
}

func dryRun(dry bool) []string {
	if !dry {
		return nil
	}
	return []string{metav1.DryRunAll}
}

func subresources(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}
