package memory

import (
	"bytes"
	"fmt"
	"slices"

	yamlv3 "go.yaml.in/yaml/v3"
)

const (
	// maxAliases is the limit of what the aliases of one YAML document may add to it, in bytes.
	maxAliases = 3 << 20
	// mostAliases is how many aliases a document may have. The YAML libraries take about 10 µs for each.
	mostAliases = 10_000
)

// CheckAliases returns an error, with a line, if a YAML document has more than 10,000 aliases, or if
// they add more than 3 MiB to the document when they are written out. The YAML libraries bound the number of values that
// aliases make, not their size. The text may have syntax errors, which CheckAliases does not report.
// [Cluster.Load] and [Cluster.Patch] call it. It is safe for concurrent use.
func CheckAliases(document []byte) error {
	n, line := countAliases(document)
	switch {
	case n == 0:
		return nil
	case n > mostAliases:
		return fmt.Errorf("line %d: the document has more than %d aliases: write the values out", line, mostAliases)
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

// countAliases returns the number of places in a text where an alias can begin, and the line of the
// last one that it counts: it ends after the limit. A text without an anchor has none.
func countAliases(text []byte) (n, line int) {
	if bytes.IndexByte(text, '*') < 0 || bytes.IndexByte(text, '&') < 0 {
		return 0, 0
	}
	line = 1
	for i, c := range text {
		switch {
		case c == '\n':
			line++
		case c == '*' && (i == 0 || bytes.IndexByte([]byte(" \t\r\n[{,:-?"), text[i-1]) >= 0):
			if n++; n > mostAliases {
				return n, line
			}
		}
	}
	return n, line
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
