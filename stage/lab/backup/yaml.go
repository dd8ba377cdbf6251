package backup

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/stagecraft-go/stagecraft/stage"
)

// yaml reads YAML documents.
func (r *reader) yaml(name string, data []byte) {
	in := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		if err := in.Decode(&doc); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			r.refuse(stage.Position{File: name}, "%w", err)
			return
		}
		if len(doc.Content) == 1 && doc.Content[0].Tag != "!!null" {
			r.document(name, doc.Content[0])
		}
	}
}

func (r *reader) document(name string, root *yaml.Node) {
	from := list{textIn(root, "apiVersion"), textIn(root, "kind")}
	items := fieldOf(root, "items")
	if items == nil || !strings.HasSuffix(from.kind, "List") {
		r.node(name, root, list{})
		return
	}
	from.kind = strings.TrimSuffix(from.kind, "List")
	for _, n := range items.Content {
		r.node(name, n, from)
	}
}

// node adds an object from its YAML.
func (r *reader) node(name string, n *yaml.Node, from list) {
	at := stage.Position{File: name, Line: n.Line, Column: n.Column}
	if alias := asText(n); alias != nil {
		r.refuse(stage.Position{File: name, Line: alias.Line, Column: alias.Column}, "an alias: kubectl prints none, and this reader takes none")
		return
	}
	var fields map[string]any
	if err := n.Decode(&fields); err != nil {
		r.refuse(at, "%w", err)
		return
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		r.refuse(at, "%w", err)
		return
	}
	r.object(raw, from, at)
}

// asText makes times text, which is what they are in JSON. It returns the first alias, if there is
// one: aliases of aliases make a small text very large.
func asText(n *yaml.Node) (alias *yaml.Node) {
	switch {
	case n.Kind == yaml.AliasNode:
		return n
	case n.Tag == "!!timestamp":
		n.Tag = "!!str"
	}
	for _, part := range n.Content {
		if alias := asText(part); alias != nil {
			return alias
		}
	}
	return nil
}

func fieldOf(n *yaml.Node, name string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

func textIn(n *yaml.Node, name string) string {
	if field := fieldOf(n, name); field != nil {
		return field.Value
	}
	return ""
}
