package lint

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// rendered returns what one template sends for an object, by a Stage that has it alone; nil if it fails or sends nothing.
func (s *subject) rendered(t template, obj *unstructured.Unstructured) stage.Effect {
	alone := *s.stage
	alone.Spec = v1alpha1.StageSpec{ResourceRef: s.spec.ResourceRef, Selector: &v1alpha1.StageSelector{}, Steps: []v1alpha1.StageStep{t.step}}
	set, err := stage.Compile(stage.Options{Lenient: true}, stage.Objects(alone))
	if err != nil {
		return nil
	}
	for _, v := range set.Explain(obj, now).Verdicts {
		if len(v.Outcome.Effects) == 1 {
			return v.Outcome.Effects[0]
		}
	}
	return nil
}

// stages are the objects that a template is tried on: those that the Stage matches, else fresh ones.
func (s *subject) objects() []*unstructured.Unstructured {
	var list []*unstructured.Unstructured
	if s.compiles {
		for _, l := range s.peers.probes() {
			if l.verdicts[s].Matches {
				list = append(list, l.obj)
			}
		}
	}
	if len(list) == 0 {
		list = fresh(s.kind)
	}
	return list[:min(len(list), 4)]
}

func rootlessStatus(s *subject) []fault {
	var faults []fault
	for _, t := range s.templates {
		if t.step.Patch == nil || t.step.Patch.Subresource != "status" {
			continue
		}
		for _, obj := range s.objects() {
			if p, ok := s.rendered(t, obj).(stage.Patch); ok && !touchesStatus(p) {
				faults = append(faults, whole(strings.TrimSuffix(t.path, ".template"), "add root: status",
					"the patch goes to the status subresource, but changes no field of status, and nothing else gets through"))
				break
			}
		}
	}
	return faults
}

func touchesStatus(p stage.Patch) bool {
	if p.Type != types.JSONPatchType {
		m, _ := p.Data.(map[string]any)
		_, ok := m["status"]
		return ok || len(m) == 0
	}
	ops, _ := p.Data.([]any)
	return len(ops) == 0 || slices.ContainsFunc(ops, func(op any) bool {
		m, _ := op.(map[string]any)
		path, _ := m["path"].(string)
		return path == "/status" || strings.HasPrefix(path, "/status/")
	})
}

// unquoted renders templates on probes, plain and with texts that YAML reads as something else in the fields that only a template reads.
func unquoted(s *subject) []fault {
	var faults []fault
	for _, t := range s.templates {
		reported := map[string]bool{}
		for _, obj := range s.objects() {
			for _, leaf := range append(append(s.wrong(t, obj), s.wrong(t, t.filled(obj, plain))...), s.treacherous(t, obj)...) {
				if !reported[leaf.key] {
					reported[leaf.key] = true
					faults = append(faults, fault{t.path, t.place(leaf.key), leaf.name + " is text, but " + leaf.message, "quote it: {{ … | Quote }}, or \"…\""})
				}
			}
		}
	}
	return faults
}

// The texts that are put into fields: number is read as one, plain is not.
const number, plain = "1.10", "v1.10"

// A leaf is a scalar of a rendered template at fault.
type leaf struct{ name, key, message string }

// wrong finds what is not text although the API has text there.
func (s *subject) wrong(t template, obj *unstructured.Unstructured) []leaf {
	var list []leaf
	for _, l := range leaves("", "", data(s.rendered(t, obj))) {
		if _, isText := l.value.(string); !isText && l.value != nil && isTextField(l.name) {
			list = append(list, leaf{l.name, l.key, "YAML reads it as " + jsonText(l.value)})
		}
	}
	return list
}

// treacherous finds texts that become numbers: 1.10 is what a version may look like, and text in front of it what is written otherwise.
func (s *subject) treacherous(t template, obj *unstructured.Unstructured) []leaf {
	safe := map[string]any{}
	for _, l := range leaves("", "", data(s.rendered(t, t.filled(obj, plain)))) {
		safe[l.name] = l.value
	}
	var list []leaf
	for _, l := range leaves("", "", data(s.rendered(t, t.filled(obj, number)))) {
		if _, isNumber := l.value.(float64); isNumber && safe[l.name] == plain && isProse(l.key) {
			list = append(list, leaf{l.name, l.key, "YAML reads a value such as " + number + " as the number " + jsonText(l.value)})
		}
	}
	return list
}

func data(e stage.Effect) any {
	switch e := e.(type) {
	case stage.Patch:
		return e.Data
	case stage.Apply:
		return e.Object.Object
	}
	return nil
}

// A scalar is one value of a rendered template, with the field that holds it.
type scalar struct {
	name, key string // status.phase and phase
	value     any
}

func leaves(name, key string, v any) []scalar {
	var list []scalar
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			list = append(list, leaves(position.Field(name, k), k, v[k])...)
		}
	case []any:
		for i, item := range v {
			list = append(list, leaves(position.Index(name, i), key, item)...)
		}
	default:
		list = append(list, scalar{name, key, v})
	}
	return list
}

// textFields are places where the API of every kind, or of Pods and Nodes, has text.
var textFields = regexp.MustCompile(`(^|\.)(status\.phase|metadata\.(name|namespace)|metadata\.(labels|annotations)(\.[^.]+|\[".*"\]))$` +
	`|^status\.(conditions\[\d+\]\.(type|status|reason|message|lastTransitionTime)|reason|message)$`)

func isTextField(name string) bool { return textFields.MatchString(name) }

// isProse reports whether a field of this name holds text by convention: a version, or what people read.
func isProse(key string) bool {
	key = strings.ToLower(key)
	return slices.ContainsFunc([]string{"message", "reason", "version", "phase", "name", "image"}, func(word string) bool { return strings.HasSuffix(key, word) })
}

// place finds the value of a key in the template; -1 if the key is not written there.
func (t template) place(key string) int {
	at := regexp.MustCompile(`(?m)(?:^|[\s{,-])["']?` + regexp.QuoteMeta(key) + `["']?:[ \t]*`).FindStringIndex(t.text)
	if at == nil {
		return -1
	}
	return at[1]
}

// filled puts a text into the fields of obj that the template reads and obj does not have: of spec, labels and annotations, whose texts users choose.
func (t template) filled(obj *unstructured.Unstructured, value string) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	for _, names := range reads(t.text) {
		p := path{}
		for _, name := range names {
			p = append(p, step{field: name, index: -1})
		}
		chosen := names[0] == "spec" || len(names) == 3 && names[0] == "metadata" && (names[1] == "labels" || names[1] == "annotations")
		if _, there := p.get(obj.Object); chosen && len(names) > 1 && !there {
			p.set(obj.Object, value)
		}
	}
	return obj
}

// reads lists the fields that a template reads from the object, also by index with constant names. Inside range and with, where the dot is another one, only those that begin with $ count.
func reads(text string) [][]string {
	tree := parse.New("")
	tree.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := tree.Parse(text, "", "", trees); err != nil || tree.Root == nil {
		return nil
	}
	r := reader{}
	r.list(tree.Root, true)
	return r.found
}

type reader struct{ found [][]string }

// list visits nodes; top is whether the dot is the object.
func (r *reader) list(l *parse.ListNode, top bool) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			r.pipe(n.Pipe, top)
		case *parse.IfNode:
			r.branch(&n.BranchNode, top, top)
		case *parse.RangeNode:
			r.list(n.List, false) // what it goes through is no text
			r.list(n.ElseList, top)
		case *parse.WithNode:
			r.branch(&n.BranchNode, top, false)
		}
	}
}

func (r *reader) branch(b *parse.BranchNode, top, inside bool) {
	r.pipe(b.Pipe, top)
	r.list(b.List, inside)
	r.list(b.ElseList, top)
}

func (r *reader) pipe(p *parse.PipeNode, top bool) {
	for _, c := range p.Cmds {
		r.index(c, top)
		for _, arg := range c.Args {
			if names := fieldsOf(arg, top); names != nil {
				r.found = append(r.found, names)
			}
			if inner, ok := arg.(*parse.PipeNode); ok {
				r.pipe(inner, top)
			}
		}
	}
}

// index reads the fields of index .metadata.annotations "name".
func (r *reader) index(c *parse.CommandNode, top bool) {
	if len(c.Args) != 3 || c.Args[0].String() != "index" {
		return
	}
	names := fieldsOf(c.Args[1], top)
	if key, ok := c.Args[2].(*parse.StringNode); ok && names != nil {
		r.found = append(r.found, append(slices.Clone(names), key.Text))
	}
}

func fieldsOf(n parse.Node, top bool) []string {
	switch n := n.(type) {
	case *parse.FieldNode:
		if top {
			return n.Ident
		}
	case *parse.VariableNode:
		if n.Ident[0] == "$" && len(n.Ident) > 1 {
			return n.Ident[1:]
		}
	}
	return nil
}
