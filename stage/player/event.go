package player

import (
	"cmp"
	"context"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/listwatch"
	"github.com/stagecraft-go/stagecraft/internal/random"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// event creates an Event about the object. Its name consists of the name of the object, the index
// of the effect and the time of entry into the Stage. So a retry does not create a second Event,
// but a new entry does.
func (p *inFlight) event(ctx context.Context, w transport.Writer, e stage.Event, now time.Time) error {
	t := p.transition
	id := random.Hash(t.Seed()).Text("event").Text(string(t.UID)).Number(uint64(t.Entered.UnixNano())).Number(uint64(p.index)).Sum()
	name := t.Key.Name + "." + strconv.FormatUint(id, 16)
	obj := eventObject(e, name, p.reference(), now)
	o := metav1.CreateOptions{FieldManager: fieldManager}
	var err error
	if v, ok := w.(transport.ValueWriter); ok {
		_, err = listwatch.Guard(func() (*unstructured.Unstructured, error) { return v.CreateValue(ctx, obj, o) })
	} else {
		_, err = listwatch.Guard(func() (*unstructured.Unstructured, error) { return w.Create(ctx, obj, o) })
	}
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// reference returns the involvedObject of an Event about the present object.
func (p *inFlight) reference() map[string]any {
	k := p.transition.Key
	apiVersion, kind := k.GroupVersionKind().ToAPIVersionAndKind()
	ref := map[string]any{"apiVersion": apiVersion, "kind": kind, "name": k.Name}
	set := func(field, value string) {
		if value != "" {
			ref[field] = value
		}
	}
	set("namespace", k.Namespace)
	set("uid", string(p.transition.UID))
	if p.obj != nil {
		set("resourceVersion", p.obj.GetResourceVersion())
	}
	return ref
}

// eventObject returns a v1 Event like those of client-go's recorder.
func eventObject(e stage.Event, name string, about map[string]any, now time.Time) *unstructured.Unstructured {
	var stamp any = now.UTC().Format(time.RFC3339)
	namespace, _ := about["namespace"].(string)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion":         "v1",
		"kind":               "Event",
		"metadata":           map[string]any{"name": name, "namespace": cmp.Or(namespace, metav1.NamespaceDefault)},
		"involvedObject":     about,
		"type":               e.Type,
		"reason":             e.Reason,
		"message":            e.Message,
		"source":             map[string]any{"component": fieldManager},
		"firstTimestamp":     stamp,
		"lastTimestamp":      stamp,
		"count":              int64(1),
		"reportingComponent": fieldManager,
		"reportingInstance":  "",
	}}
}
