package stage

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/render"
)

// An editText is an item of [PatchesExtension] in YAML: increment and by, or condition, template and
// list.
type editText struct {
	Increment   string  `json:"increment,omitempty"`
	By          *int64  `json:"by,omitempty"`
	Condition   string  `json:"condition,omitempty"`
	Template    *string `json:"template,omitempty"`
	List        string  `json:"list,omitempty"`
	Subresource *string `json:"subresource,omitempty"`
}

// patchesExtension compiles the items of the annotation into steps that come after all others.
func (c *compiler) patchesExtension(path, text string, st *compiled) {
	read, fault := position.ParseText(text)
	if fault != nil {
		c.faultInText(path, fault)
		return
	}
	b := editBuilder{compiler: c, path: path, text: read}
	var items []editText
	for _, fault := range read.Decode(&items) {
		c.faultInText(path, fault)
	}
	for i, item := range items {
		if e := b.edit(position.Index("", i), item); e != nil {
			st.steps = append(st.steps, step{edit: e})
		}
	}
	if n := c.definition.stage.Spec.Next; n != nil && n.Delete && len(c.definition.stage.Spec.Steps) == 0 {
		c.warn(path, "not played, because the stage deletes the object before")
	}
}

type editBuilder struct {
	compiler *compiler
	path     string
	text     *position.Text
}

func (b *editBuilder) fault(path string, offset int, err error) {
	b.compiler.faultInText(b.path, b.text.Locate(&position.Error{Path: path, Offset: offset, Err: err}))
}

// edit compiles one item of the list.
func (b *editBuilder) edit(at string, t editText) *edit {
	switch {
	case (t.Increment == "") == (t.Condition == ""):
		b.fault(at, -1, errors.New("want increment or condition"))
		return nil
	case t.Increment != "":
		return b.increment(at, t)
	}
	return b.conditionEdit(at, t)
}

func (b *editBuilder) increment(at string, t editText) *edit {
	e := &edit{path: b.path, item: at + ".increment", by: 1}
	e.target, e.subresource = b.target(at+".increment", t.Increment, t.Subresource)
	if t.By != nil {
		e.by = *t.By
	}
	if e.by == 0 {
		b.fault(at+".by", -1, errors.New("0 changes nothing"))
	}
	if t.List != "" {
		b.fault(at+".list", -1, errors.New("is for a condition"))
	}
	if t.Template != nil {
		b.fault(at+".template", -1, errors.New("is for a condition"))
	}
	return e
}

func (b *editBuilder) conditionEdit(at string, t editText) *edit {
	e := &edit{path: b.path, item: at + ".condition", condition: t.Condition}
	list := t.List
	if list == "" {
		list = ".status.conditions"
	}
	e.target, e.subresource = b.target(at+".list", list, t.Subresource)
	if t.By != nil {
		b.fault(at+".by", -1, errors.New("is for increment"))
	}
	if t.Template == nil {
		b.fault(at, -1, errors.New("template is missing: the fields of the condition, such as 'status: \"True\"'"))
		return e
	}
	template, err := render.Compile(*t.Template, b.compiler.templates)
	for _, fault := range position.All(templateFaults(err)) {
		b.fault(at+".template", fault.Offset, fault.Err)
	}
	e.template = template
	return e
}

// target reads a path and the subresource that is patched: by default status for a path below
// .status.
func (b *editBuilder) target(at, path string, subresource *string) (target []any, sub string) {
	target, offset, err := parsePath(path)
	if err != nil {
		b.fault(at, offset, err)
		return nil, ""
	}
	switch {
	case subresource != nil:
		sub = *subresource
	case target[0] == "status":
		sub = "status"
	}
	return target, sub
}

var (
	pathStep   = regexp.MustCompile(`^(?:\.([A-Za-z_][\w-]*)|\["((?:[^"\\]|\\.)+)"\]|\[(\d{1,6})\])`)
	plainField = regexp.MustCompile(`^[A-Za-z_][\w-]*$`)
)

// parsePath reads a path such as .status.containers[0].restarts or .metadata.annotations["a/b"]. An
// error comes with its offset in bytes.
func parsePath(path string) (target []any, offset int, err error) {
	for rest := path; rest != ""; rest = path[offset:] {
		m := pathStep.FindStringSubmatch(rest)
		if m == nil {
			return nil, offset, fmt.Errorf("%q is no path such as .status.count", path)
		}
		offset += len(m[0])
		switch {
		case m[1] != "":
			target = append(target, m[1])
		case m[2] != "":
			target = append(target, m[2])
		default:
			n, _ := strconv.Atoi(m[3])
			target = append(target, n)
		}
	}
	if _, isField := target[0].(string); !isField {
		return nil, 0, fmt.Errorf("%q does not begin with a field", path)
	}
	return target, 0, nil
}
