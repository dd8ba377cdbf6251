package stages

import (
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
)

// A Fault is something wrong with a Stage.
type Fault struct {
	Path    string // of the field, such as spec.selector.matchExpressions[0].jq.key
	Line    int    // in the text of the field, from 1; 0 if the whole field is meant
	Column  int    // in bytes, from 1
	Warning bool   // whether it leaves the Stage usable
	Err     error  // the fault
}

// String prints `spec.selector.matchExpressions[0].jq.key:1:5: what is wrong`.
func (f Fault) String() string {
	var b strings.Builder
	if f.Warning {
		b.WriteString("warning: ")
	}
	if f.Path != "" {
		b.WriteString(f.Path)
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
		}
		b.WriteString(": ")
	}
	b.WriteString((&stage.Error{Err: f.Err}).Error()) // on one line, whatever the Stage says
	return b.String()
}

// within converts the place of a fault. The argument is the place in the text of a Stage, which is
// one line of JSON. The result is the line and column in the field, or 0 if the fault is the field
// itself.
func within(obj *unstructured.Unstructured, source stage.Source, e *stage.Error) (line, column int) {
	text, ok := field(obj.Object, e.Path).(string)
	if !ok || len(source.Stages()) != 1 || e.Position == source.Locate(0, e.Path, -1) {
		return 0, 0
	}
	offset := sort.Search(len(text)+1, func(i int) bool { return source.Locate(0, e.Path, i).Column > e.Position.Column }) - 1
	if offset < 0 || source.Locate(0, e.Path, offset) != e.Position {
		return 0, 0
	}
	before := text[:offset]
	return 1 + strings.Count(before, "\n"), offset - strings.LastIndexByte(before, '\n')
}

// steps are the parts of a path such as spec.steps[0].patch or metadata.annotations["a.b/c"].
var steps = regexp.MustCompile(`"[^"]*"|[^."\[\]]+`)

// field is the value of a field, or nil.
func field(v any, path string) any {
	for _, step := range steps.FindAllString(path, -1) {
		switch at := v.(type) {
		case map[string]any:
			v = at[strings.Trim(step, `"`)]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}
