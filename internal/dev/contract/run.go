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

// A story is a scenario as it runs on a server.
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
	story.given = story.parse(s.object)
	story.gvk = story.given.GroupVersionKind()
	return story
}

func (s *scenarioRun) run() {
	ns := s.parse("{apiVersion: v1, kind: Namespace, metadata: {name: $namespace}}")
	_, err := s.server.Create(s.t.Context(), ns, metav1.CreateOptions{})
	require.NoError(s.t, err)
	defer s.clean()
	check := s.watch()
	for i, step := range s.steps {
		s.step(fmt.Sprintf("step %d: %s", i+1, step.verb), step)
	}
	check()
}

// watch begins to watch if the scenario wants events, and returns what compares them.
func (s *scenarioRun) watch() (check func()) {
	if s.events == nil {
		return func() {}
	}
	changes, err := s.server.Watch(s.t.Context(), s.gvk, s.namespace, metav1.ListOptions{LabelSelector: s.label})
	require.NoError(s.t, err)
	return func() {
		defer changes.Stop()
		require.Equal(s.t, s.events, s.receivedEvents(changes))
	}
}

// seen reads as many events as are wanted, or what comes within the time of a watch.
func (s *scenarioRun) receivedEvents(changes watch.Interface) (receivedEvents []string) {
	late := time.NewTimer(watchTimeout)
	defer late.Stop()
	for range s.events {
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

// patience is how long a watch may take to tell of what has happened.
const watchTimeout = 5 * time.Second

func (s *scenarioRun) step(at string, step step) {
	name := s.nameOf(step)
	before, _ := s.server.Get(s.t.Context(), s.gvk, name)
	result, err := s.do(step, name, before)
	if step.reason != "" {
		require.Error(s.t, err, at)
		require.Equal(s.t, step.reason, cmp.Or(apierrors.ReasonForError(err), noReason), "%s: %v", at, err)
		return
	}
	require.NoError(s.t, err, at)
	after, _ := s.server.Get(s.t.Context(), s.gvk, name)
	if step.versionChanged != eitherWay {
		require.NotNil(s.t, before, at)
		require.NotNil(s.t, after, at)
		require.Equal(s.t, step.versionChanged == yes, before.GetResourceVersion() != after.GetResourceVersion(), "%s: whether the version moved", at)
	}
	if result == nil {
		result = after
	}
	s.check(at, step.want, result)
}

func (s *scenarioRun) nameOf(step step) types.NamespacedName {
	name := types.NamespacedName{Namespace: s.given.GetNamespace(), Name: s.given.GetName()}
	if step.target != "" {
		name.Name = step.target
	}
	return name
}

// do sends the call of a step. The result is what to check, if that is not the object as stored.
func (s *scenarioRun) do(step step, name types.NamespacedName, before *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	body, ctx := s.fill(step.body, before), s.t.Context()
	switch step.verb {
	case get:
		_, err := s.server.Get(ctx, s.gvk, name)
		return nil, err
	case list:
		return s.list(body)
	case create:
		return s.create(step, body)
	case update:
		return nil, s.update(step, body, before)
	case remove:
		var o metav1.DeleteOptions
		require.NoError(s.t, yaml.Unmarshal([]byte(body), &o))
		return nil, s.server.Delete(ctx, s.gvk, name, o)
	}
	data, err := yaml.YAMLToJSON([]byte(body))
	require.NoError(s.t, err)
	o := metav1.PatchOptions{FieldManager: step.manager, DryRun: dryRun(step.dry)}
	if step.force {
		o.Force = &step.force
	}
	obj, err := s.server.Patch(ctx, s.gvk, name, patchTypes[step.verb], data, o, subresources(step.sub)...)
	s.recordCreated(obj)
	return nil, err
}

var patchTypes = map[verb]types.PatchType{
	merge: types.MergePatchType, strategic: types.StrategicMergePatchType, json: types.JSONPatchType, apply: types.ApplyPatchType,
}

// create returns what was created if it is not the object of the scenario.
func (s *scenarioRun) create(step step, body string) (*unstructured.Unstructured, error) {
	obj := s.given
	if body != "" {
		obj = s.parse(body)
	}
	obj, err := s.server.Create(s.t.Context(), obj, metav1.CreateOptions{FieldManager: step.manager, DryRun: dryRun(step.dry)})
	if step.dry || err != nil {
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
	_, err := s.server.Update(s.t.Context(), obj, metav1.UpdateOptions{FieldManager: step.manager, DryRun: dryRun(step.dry)}, subresources(step.sub)...)
	return err
}

// list reads all pages, and returns the names in the order of the server and how many pages there were.
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

// check compares what is wanted with what is there.
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

// contains reports whether everything that is wanted is there. What is wanted to be absent may be empty.
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

// note keeps in mind what clean must remove.
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

// fill puts into a text what the scenario cannot know.
func (s *scenarioRun) fill(text string, before *unstructured.Unstructured) string {
	pairs := []string{"$namespace", s.namespace}
	if before != nil {
		pairs = append(pairs, "$version", "'"+before.GetResourceVersion()+"'", "$uid", string(before.GetUID()))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// parse reads an object, integers as int64.
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
