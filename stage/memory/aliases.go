package memory

import (
	"bytes"
	"fmt"
	"slices"

	yamlv3 "go.yaml.in/yaml/v3"
)

// maxAliases is the limit of what the aliases of one YAML document may add to it, in bytes.
const maxAliases = 3 << 20

// CheckAliases returns an error, with a line, if the aliases of a YAML document add more than 3 MiB
// to the document when they are written out. The YAML libraries bound the number of values that
// aliases make, not their size. The text may have syntax errors, which CheckAliases does not report.
// [Cluster.Load] and [Cluster.Patch] call it. It is safe for concurrent use.
func CheckAliases(document []byte) error {
	if !mayHaveAliases(document) {
		return nil
	}
	var root yamlv3.Node
	if yamlv3.Unmarshal(document, &root) != nil {
		return nil
	}
	w := writing{left: len(document) + maxAliases}
	if w.out(&root, nil); w.left >= 0 {
		return nil
	}
	return fmt.Errorf("line %d: aliases make the document longer by more than %d MiB: write the values out", w.line, maxAliases>>20)
}

// mayHaveAliases reports whether a text has an asterisk where an alias can begin.
func mayHaveAliases(text []byte) bool {
	for rest := text; ; {
		at := bytes.IndexByte(rest, '*')
		switch {
		case at < 0:
			return false
		case at > 0 && bytes.IndexByte([]byte(" \t\r\n[{,:-?"), rest[at-1]) >= 0:
			return bytes.IndexByte(text, '&') >= 0
		}
		rest = rest[at+1:]
	}
}

// A writing counts the bytes of a document with its aliases written out.
type writing struct {
	left int // negative: there are too many
	line int // of the alias where they became too many
}

// out subtracts the bytes of a node. within are the anchors around it.
func (w *writing) out(n *yamlv3.Node, within []*yamlv3.Node) {
	if n.Kind == yamlv3.AliasNode {
		if !slices.Contains(within, n.Alias) { // otherwise it is refused by the decoder
			w.out(n.Alias, append(within, n.Alias))
		}
		if w.left < 0 && len(within) == 0 {
			w.line = n.Line
		}
		return
	}
	w.left -= 1 + len(n.Value)
	for _, child := range n.Content {
		if w.left < 0 {
			return
		}
		w.out(child, within)
	}
}
