package answer

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/manifests"
	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/statuses"
	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/stage"
)

// A Status is the status of an object, and why.
type Status struct {
	statuses.Row
	Upstream string `json:"upstream"` // the status by the rules of upstream kstatus
	Line     int    `json:"line"`     // of the field that decided, or of the object
	Span
}

// status answers about the state of objects.
func (r Request) status(ctx context.Context) (Answer, error) {
	source := stage.Parse(ObjectsFile, []byte(r.Objects))
	sound, err := manifests.Of(source)
	a := Answer{Faults: append([]Fault{}, r.faultsOf(err)...)}
	switch {
	case len(source.Stages()) > 0:
		return a, errors.New("a Stage is played, and has no state: use the view of Stages")
	case len(sound) > MaxObjects:
		return a, fmt.Errorf("%d objects are more than %d: use stagecraft ready", len(sound), MaxObjects)
	}
	var objects statuses.Objects
	for _, m := range sound {
		objects = append(objects, m.Unstructured)
	}
	for i, v := range statuses.Judge(ctx, kstatus.Extended(), objects, r.Now, objects...) {
		s := Status{Row: v.Row(), Upstream: string(kstatus.Standard().Compute(v.Object, r.Now).Status)}
		s.Explanation = v.Why()
		place := sound[i].Place(indexed(v.Object, s.Field))
		s.Line, s.Span = place.Line, spanAt(r.Objects, place.Line, place.Column)
		a.Statuses = append(a.Statuses, s)
	}
	return a, nil
}

// element matches the element of a list in a path of package kstatus: status.conditions[type="Ready"].
var element = regexp.MustCompile(`^([\w.]+)\[(\w+)=("(?:[^"\\]|\\.)*")\](.*)$`)

// indexed returns a path with the index of an element in place of its key. A path that names no field of the
// object is returned unchanged.
func indexed(obj *unstructured.Unstructured, path string) string {
	parts := element.FindStringSubmatch(path)
	if parts == nil {
		return path
	}
	key, err := strconv.Unquote(parts[3])
	if err != nil {
		return path
	}
	list, _, _ := unstructured.NestedSlice(obj.Object, strings.Split(parts[1], ".")...)
	for i, item := range list {
		if fields, _ := item.(map[string]any); fields[parts[2]] == key {
			return fmt.Sprintf("%s[%d]%s", parts[1], i, parts[4])
		}
	}
	return parts[1]
}
