package render

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

// maxText keeps the recursion of the parser far below the largest stack.
const maxText = 1 << 20

// parse returns the trees of the text, checked and with their counters.
func (t *Template) parse() (map[string]*parse.Tree, error) {
	if len(t.text) > maxText {
		return nil, unplaced(fmt.Errorf("template of %d bytes, more than %d", len(t.text), maxText))
	}
	if err := checkFuncs(t.options.Funcs); err != nil {
		return nil, unplaced(err)
	}
	// Without the parser's own check of function names, in order to find all unknown ones.
	trees := map[string]*parse.Tree{}
	tree := parse.New(rootName)
	tree.Mode = parse.SkipFuncCheck
	if _, err := tree.Parse(strings.TrimSpace(t.text), "", "", trees); err != nil {
		return nil, t.syntaxError(err)
	}
	if trees[rootName] == nil {
		trees[rootName] = tree // text/template leaves an empty tree out
	}
	if err := t.check(trees); err != nil {
		return nil, err
	}
	for _, tree := range trees {
		count(tree, t.mutates)
	}
	return trees, nil
}

// check finds the functions of the trees. An unknown function is a fault.
func (t *Template) check(trees map[string]*parse.Tree) error {
	var calls []*parse.IdentifierNode
	for _, tree := range trees {
		walk(tree.Root, func(n parse.Node) {
			if id, ok := n.(*parse.IdentifierNode); ok {
				calls = append(calls, id)
			}
		})
	}
	slices.SortFunc(calls, func(a, b *parse.IdentifierNode) int { return int(a.Pos - b.Pos) })
	var faults []error
	for _, id := range calls {
		if !t.known(id.Ident) {
			faults = append(faults, t.errorAt(t.start+int(id.Pos), undefined(id.Ident)))
		}
		_, user := t.options.Funcs[id.Ident]
		t.names = append(t.names, id.Ident)
		t.mutates = t.mutates || mutators[id.Ident] && !user
	}
	if len(faults) == 1 {
		return faults[0]
	}
	return errors.Join(faults...)
}

// undefined is the fault of an unknown function.
func undefined(name string) error {
	if slices.Contains([]string{"include", "tpl", "toYaml", "fromYaml", "toToml", "required", "lookup"}, name) {
		return fmt.Errorf("function %q not defined: it is one of Helm; render the chart first, with helm template", name)
	}
	return fmt.Errorf("function %q not defined", name)
}

// associate makes the template that each state clones.
func (t *Template) associate(trees map[string]*parse.Tree) error {
	t.root = template.New(rootName)
	if t.options.MissingKeyError {
		t.root.Option("missingkey=error")
	}
	for _, name := range slices.Sorted(maps.Keys(trees)) {
		if _, err := t.root.AddParseTree(name, trees[name]); err != nil {
			return unplaced(err)
		}
	}
	return nil
}

// syntaxError finds the line that the parser names. The parser does not tell the column.
func (t *Template) syntaxError(err error) error {
	line, text := 0, ""
	rest, found := strings.CutPrefix(err.Error(), "template: "+rootName+":")
	if found {
		_, _ = fmt.Sscanf(rest, "%d:", &line)
		_, text, found = strings.Cut(rest, ": ")
	}
	if !found || line == 0 {
		return unplaced(err)
	}
	offset := offsetOf(t.text, line+strings.Count(t.text[:t.start], "\n"), 0)
	offset += leadingSpace(t.text[offset:])
	return t.errorAt(offset, &reworded{text, err})
}

// checkFuncs refuses functions on which text/template panics, and the names of our own counters.
func checkFuncs(funcs map[string]any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("functions: %v", p)
		}
	}()
	template.New("").Funcs(funcs)
	for _, name := range slices.Sorted(maps.Keys(funcs)) {
		if name == callFunc || name == rangeFunc || name == weighFunc {
			return fmt.Errorf("functions: the name %q is taken", name)
		}
	}
	return nil
}
