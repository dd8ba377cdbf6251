package apiserver

import (
	"context"
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/lab/validation"
)

// Events of both groups are the same objects. They are stored as those of the core group.
var (
	coreEvents  = schema.GroupVersionKind{Version: "v1", Kind: "Event"}
	groupEvents = schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "Event"}
)

// coreNames are the fields of Events of events.k8s.io that have other names in the core group; see
// k8s.io/kubernetes/pkg/apis/events/v1/conversion.go.
var coreNames = map[string]string{
	"regarding": "involvedObject", "note": "message", "reportingController": "reportingComponent", "deprecatedSource": "source",
	"deprecatedFirstTimestamp": "firstTimestamp", "deprecatedLastTimestamp": "lastTimestamp", "deprecatedCount": "count",
}

// coreName is the name of a field of an Event of events.k8s.io in the core group.
func coreName(name string) string {
	if other, differs := coreNames[name]; differs {
		return other
	}
	return name
}

// groupName is the opposite of coreName.
func groupName(name string) string {
	for other, core := range coreNames {
		if core == name {
			return other
		}
	}
	return name
}

func eventToCore(given, _ map[string]any) map[string]any { return renamedKeys(given, coreName) }

func eventFromCore(stored map[string]any) map[string]any { return renamedKeys(stored, groupName) }

// renamedKeys returns a map with other names of fields. What is in the fields is shared.
func renamedKeys(m map[string]any, name func(string) string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[name(k)] = v
	}
	return out
}

// selectStorage turns the field selector of a request into one of the objects as they are stored.
func (c *call) selectStorage(o *metav1.ListOptions) error {
	if c.of.kind != groupEvents || o.FieldSelector == "" {
		return nil
	}
	selector, err := fields.ParseSelector(o.FieldSelector)
	if err != nil {
		return badRequest("%v", err)
	}
	selector, err = selector.Transform(func(field, value string) (string, string, error) {
		first, rest, nested := strings.Cut(field, ".")
		if !slices.Contains(eventSelectors, first) {
			return "", "", badRequest("field label not supported: %s", field)
		}
		if nested {
			return coreName(first) + "." + rest, value, nil
		}
		return coreName(first), value, nil
	})
	if err != nil {
		return err
	}
	o.FieldSelector = selector.String()
	return nil
}

// eventSelectors are the fields of Events of events.k8s.io that can be selected.
var eventSelectors = []string{"metadata", "reason", "regarding", "reportingController", "type"}

// askedInGroup returns the context of requests for Events of events.k8s.io, which are checked more
// strictly.
func askedInGroup(ctx context.Context) context.Context {
	return validation.AskedIn(ctx, groupEvents.Group)
}

// ofRequest returns an error about an object with the group of the request.
func (c *call) ofRequest(err error) error {
	var status *apierrors.StatusError
	if c.of.storage == c.of.kind || !errors.As(err, &status) || status.ErrStatus.Details == nil {
		return err
	}
	switch name := status.ErrStatus.Details.Name; status.ErrStatus.Reason {
	case metav1.StatusReasonNotFound:
		return apierrors.NewNotFound(c.of.groupResource(), name)
	case metav1.StatusReasonAlreadyExists:
		return apierrors.NewAlreadyExists(c.of.groupResource(), name)
	}
	return err
}
