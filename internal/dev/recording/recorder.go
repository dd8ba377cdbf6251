package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/itchyny/gojq"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// A Recorder executes one script on a cluster, in a namespace, and records the objects.
type Recorder struct {
	cluster   transport.Transport
	namespace string
	script    Script
	normal    *Normalizer
}

// New returns a recorder. The namespace must exist before Record is called.
func New(cluster transport.Transport, namespace string, s Script) *Recorder {
	return &Recorder{cluster: cluster, namespace: namespace, script: s, normal: NewNormalizer(namespace)}
}

// Progress is the input of a [WaitSettled]: whether the condition of the phase holds, and all
// objects as text, so that it can find a change.
type Progress struct {
	Done    bool
	Objects string
}

// WaitSettled lets time pass until the condition of a phase holds and nothing has changed for
// [QuietPeriod].
type WaitSettled func(ctx context.Context, look func(context.Context) (Progress, error)) error

// QuietPeriod is how long nothing may change before a phase is over. The Job controller collects
// changes for a second before it reacts.
const QuietPeriod = 1500 * time.Millisecond

// Record executes the script and returns it with the objects of every phase.
func (r *Recorder) Record(ctx context.Context, settle WaitSettled) (Script, error) {
	out := r.script
	out.Phases = slices.Clone(out.Phases)
	for i := range out.Phases {
		if err := r.phase(ctx, &out.Phases[i], settle); err != nil {
			return out, fmt.Errorf("phase %q: %w", out.Phases[i].Name, err)
		}
	}
	return out, nil
}

func (r *Recorder) phase(ctx context.Context, p *Phase, settle WaitSettled) error {
	until, err := compile(p.Until)
	if err != nil {
		return fmt.Errorf("until: %w", err)
	}
	for _, a := range p.Do {
		if err := r.do(ctx, a); err != nil {
			return err
		}
	}
	var answers []Answer
	for _, a := range p.Try {
		answer, err := r.try(ctx, a)
		if err != nil {
			return err
		}
		answers = append(answers, answer)
	}
	p.Answers = answers
	if err := settle(ctx, func(ctx context.Context) (Progress, error) { return r.progress(ctx, until) }); err != nil {
		return err
	}
	found, err := r.objects(ctx)
	p.Objects = r.normal.Objects(found, r.script.Kinds)
	return err
}

// try sends a request that an API server may refuse. It returns an error only if the error does not
// come from the server.
func (r *Recorder) try(ctx context.Context, a Action) (Answer, error) {
	err := r.do(ctx, a)
	var refusal apierrors.APIStatus
	if !errors.As(err, &refusal) {
		return Answer{}, err
	}
	said := refusal.Status()
	answer := Answer{Code: said.Code, Reason: said.Reason, Message: r.normal.text(said.Message)}
	if said.Details != nil {
		answer.RetryAfter = said.Details.RetryAfterSeconds
		for _, c := range said.Details.Causes {
			c.Message = r.normal.text(c.Message)
			answer.Causes = append(answer.Causes, c)
		}
	}
	return answer, nil
}

func compile(text string) (*gojq.Code, error) {
	query, err := gojq.Parse(text)
	if err != nil {
		return nil, err
	}
	return gojq.Compile(query)
}

func (r *Recorder) progress(ctx context.Context, until *gojq.Code) (Progress, error) {
	found, err := r.objects(ctx)
	if err != nil {
		return Progress{}, err
	}
	text, err := json.Marshal(found)
	return Progress{Done: holds(until, r.conditionInput(found)), Objects: string(text)}, err
}

// objects returns all objects of the kinds of the script, and of the kinds that show hashes and
// names.
func (r *Recorder) objects(ctx context.Context) (found []*unstructured.Unstructured, err error) {
	for _, gvk := range knownKinds {
		if !slices.Contains(r.script.Kinds, gvk.Kind) && gvk.Kind != "ReplicaSet" && gvk.Kind != "ControllerRevision" && gvk.Kind != "Pod" {
			continue
		}
		list, err := r.cluster.List(ctx, gvk, r.namespaceOf(gvk), metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			if r.isRelevant(&list.Items[i]) {
				found = append(found, &list.Items[i])
			}
		}
	}
	return found, nil
}

// isRelevant reports whether an object belongs to the script. Cluster-scoped objects have the
// namespace in their name.
func (r *Recorder) isRelevant(obj *unstructured.Unstructured) bool {
	if obj.GetNamespace() == "" {
		return strings.Contains(obj.GetName(), r.namespace)
	}
	return obj.GetKind() != "ConfigMap" || obj.GetName() != "kube-root-ca.crt"
}

// clusterScoped are the kinds without a namespace.
var clusterScoped = []string{"Namespace", "PersistentVolume", "CustomResourceDefinition"}

func (r *Recorder) namespaceOf(gvk schema.GroupVersionKind) string {
	if slices.Contains(clusterScoped, gvk.Kind) {
		return ""
	}
	return r.namespace
}

// conditionInput is the value on which conditions are evaluated.
func (r *Recorder) conditionInput(found []*unstructured.Unstructured) map[string]any {
	view := map[string]any{}
	for _, gvk := range knownKinds {
		view[gvk.Kind] = []any{}
	}
	for _, obj := range found {
		view[obj.GetKind()] = append(view[obj.GetKind()].([]any), floats(runtime.DeepCopyJSON(obj.Object)))
	}
	return view
}

// floats converts int64 to int, which gojq accepts.
func floats(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			v[key] = floats(e)
		}
	case []any:
		for i, e := range v {
			v[i] = floats(e)
		}
	case int64:
		return int(v)
	}
	return v
}

func holds(until *gojq.Code, view map[string]any) bool {
	v, ok := until.Run(view).Next()
	return ok && v == true
}

func (r *Recorder) do(ctx context.Context, a Action) error {
	switch {
	case a.Create != nil:
		return r.create(ctx, a.Create)
	case a.Patch != nil:
		data, err := r.encode(a.Patch.Data)
		if err != nil {
			return err
		}
		return r.patch(ctx, a.Patch.Kind, a.Patch.Name, data)
	case a.Delete != nil:
		gvk, err := kindOf(a.Delete.Kind)
		if err != nil {
			return err
		}
		return r.cluster.Delete(ctx, gvk, r.nameOf(gvk, a.Delete.Name), a.Delete.Options)
	case a.Evict != "":
		return r.evict(ctx, a.Evict)
	case a.Play != nil:
		return r.play(ctx, *a.Play)
	}
	return fmt.Errorf("an action does nothing")
}

func (r *Recorder) create(ctx context.Context, root map[string]any) error {
	data, err := r.encode(root)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(data, &u.Object); err != nil {
		return err
	}
	if !slices.Contains(clusterScoped, u.GetKind()) {
		u.SetNamespace(r.namespace)
	}
	_, err = r.cluster.Create(ctx, u, metav1.CreateOptions{})
	return err
}

// An evictor is a cluster that can evict Pods, like the clusters of stage/memory and stage/kube.
type evictor interface {
	Evict(ctx context.Context, pod types.NamespacedName, o metav1.DeleteOptions) error
}

func (r *Recorder) evict(ctx context.Context, pod string) error {
	to, ok := r.cluster.(evictor)
	if !ok {
		return errors.New("the cluster cannot evict")
	}
	return to.Evict(ctx, types.NamespacedName{Namespace: r.namespace, Name: pod}, metav1.DeleteOptions{})
}

// encode returns JSON, with the namespace in place of $namespace.
func (r *Recorder) encode(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	return []byte(strings.ReplaceAll(string(data), "$namespace", r.namespace)), err
}

func (r *Recorder) nameOf(gvk schema.GroupVersionKind, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: r.namespaceOf(gvk), Name: strings.ReplaceAll(name, "$namespace", r.namespace)}
}

func (r *Recorder) patch(ctx context.Context, kind, name string, data []byte) error {
	gvk, err := kindOf(kind)
	if err != nil {
		return err
	}
	_, err = r.cluster.Patch(ctx, gvk, r.nameOf(gvk, name), types.MergePatchType, data, metav1.PatchOptions{})
	return err
}

// PlayAnnotation is the annotation that tells the kubelet's Stages what to do with a Pod.
const PlayAnnotation = "recording.stagecraft/play"

func (r *Recorder) play(ctx context.Context, p Play) error {
	pod, err := kindOf("Pod")
	if err != nil {
		return err
	}
	list, err := r.cluster.List(ctx, pod, r.namespace, metav1.ListOptions{})
	if err != nil {
		return err
	}
	played := 0
	for i := range list.Items {
		if phaseOf(&list.Items[i]) != p.From || p.Pods > 0 && played == p.Pods {
			continue
		}
		played++
		data := fmt.Appendf(nil, `{"metadata": {"annotations": {%q: %q}}}`, PlayAnnotation, p.Stage)
		if err := r.patch(ctx, "Pod", list.Items[i].GetName(), data); err != nil {
			return err
		}
	}
	if played == 0 || played < p.Pods {
		return fmt.Errorf("there are only %d Pods in phase %s", played, p.From)
	}
	return nil
}

func phaseOf(pod *unstructured.Unstructured) string {
	if pod.GetDeletionTimestamp() != nil {
		return "Terminating"
	}
	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	return phase
}
