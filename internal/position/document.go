package position

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	yamlv3 "go.yaml.in/yaml/v3"
)

// A Document is one YAML or JSON document of a file: its value, and the position of each field.
type Document struct {
	// Value is the document as sigs.k8s.io/yaml reads it (YAML 1.1): map[string]any, []any, string,
	// bool, nil, int64, float64.
	Value any

	file  string
	start Position // of text in the file
	text  []byte
	root  *yamlv3.Node // nil after Release
	of    *Document    // the document that contains it; nil for a whole document
	path  string       // in the containing document

	once  sync.Once
	keys  map[string]*yamlv3.Node // by path, filled by index
	nodes map[string]*yamlv3.Node
	twice []string // paths of keys that occur twice in their mapping
}

// Parse splits a file into its documents and reads each. Empty documents are left out. A document
// that cannot be read becomes an Error at the line that the YAML parser names; the other documents
// are still returned.
func Parse(file string, data []byte) (docs []*Document, faults []Located) {
	Each(file, data, func(d *Document) { docs = append(docs, d) }, func(f Located) { faults = append(faults, f) })
	return docs, faults
}

// Each is like [Parse], but calls a function for each document, or for its fault.
func Each(file string, data []byte, document func(*Document), fault func(Located)) {
	for i, c := range split(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		switch d, err := read(file, c); {
		case err != nil:
			fault(unreadable(file, c, fmt.Sprintf("document[%d]", i), err))
		case d.Value != nil:
			document(d)
		}
	}
}

// Located is an Error with its place in a file.
type Located struct {
	Position Position
	*Error
}

func read(file string, c chunk) (*Document, error) {
	d := &Document{file: file, start: c.start, text: c.text, root: new(yamlv3.Node)}
	syntax := yamlv3.Unmarshal(c.text, d.root)
	if syntax == nil && expanded(d.root, maxExpanded, nil) < 0 {
		return nil, fmt.Errorf("aliases make more than %d MiB of it", maxExpanded>>20)
	}
	v, err := ParseYAML(string(c.text), maxExpanded) // its error comes first: it names the line of the fault; the other error names the line of the block around it
	if err := cmp.Or(err, syntax); err != nil {
		return nil, err
	}
	d.Value = v
	return d, nil
}

// maxExpanded is the largest size of a document with its aliases written out, in bytes. The YAML
// libraries bound the number of values that aliases make, not their size.
const maxExpanded = 64 << 20

// expanded subtracts the bytes of a node, with aliases written out, from the remaining bytes. The
// result is negative if the node is larger. within has the anchors around the node, to detect a
// node that contains itself; the YAML library reports such a node.
func expanded(n *yamlv3.Node, left int, within []*yamlv3.Node) int {
	if n.Kind == yamlv3.AliasNode && !slices.Contains(within, n.Alias) {
		return expanded(n.Alias, left, append(within, n.Alias))
	}
	left -= len(n.Value) + 1
	for _, child := range n.Content {
		if left < 0 {
			return left
		}
		left = expanded(child, left, within)
	}
	return left
}

// A chunk is the text of one document and where it begins.
type chunk struct {
	text  []byte
	start Position // line and column of text[0], from 1
}

var separator = regexp.MustCompile(`(?m)^---(?:[ \t].*)?\r?$`)

// split cuts a file at its document separators, and a chunk of concatenated JSON values into these.
func split(data []byte) []chunk {
	var chunks []chunk
	begin, line := 0, 1
	add := func(end int) {
		c := chunk{text: data[begin:end], start: Position{Line: line, Column: 1}}
		line += bytes.Count(c.text, []byte("\n"))
		begin = end
		chunks = append(chunks, splitJSON(c)...)
	}
	for _, at := range separator.FindAllIndex(data, -1) {
		if at[0] > begin {
			add(at[0])
		}
	}
	add(len(data))
	return chunks
}

// splitJSON cuts `{...} {...}` into its values. A text that is not a sequence of JSON objects or
// arrays stays one chunk, for YAML.
func splitJSON(c chunk) []chunk {
	text := bytes.TrimSpace(c.text)
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return []chunk{c}
	}
	var chunks []chunk
	for dec := json.NewDecoder(bytes.NewReader(c.text)); dec.More(); {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return []chunk{c}
		}
		from := int(dec.InputOffset()) - len(raw)
		chunks = append(chunks, chunk{text: raw, start: c.position(from)})
	}
	return chunks
}

// position is the place of the byte at offset.
func (c chunk) position(offset int) Position {
	before := c.text[:offset]
	p := c.start
	if n := bytes.Count(before, []byte("\n")); n > 0 {
		p.Line += n
		p.Column = 1
	}
	p.Column += offset - 1 - bytes.LastIndexByte(before, '\n')
	return p
}

var (
	yamlLine = regexp.MustCompile(`^line (\d+): `)
	// yamlParser are the faults that the parser, not the scanner, finds: it counts their lines from
	// 0.
	yamlParser = regexp.MustCompile(`^did not find expected (key|node content|'-' indicator|',' or '.'|<document start>)`)
)

// helmDirective is the beginning of a template action that only a chart has: it reads a value of
// Helm, or calls a function of Helm.
var helmDirective = regexp.MustCompile(`\{\{-?(?:[^{}]*[\s(])?\$?\.(?:Values|Release|Chart|Capabilities|Files)\b|\{\{-?\s*(?:include|toYaml|tpl|required|lookup)\s`)

const renderFirst = "render the chart first, with helm template"

// unreadable is the fault of a document that cannot be read. The YAML libraries have no typed
// syntax error with a line. So the line comes from their message, where it counts from the start of
// the document. If the message has another form, the fault is at the start of the document. The
// column is the first character of the line that is not blank.
func unreadable(file string, c chunk, path string, err error) Located {
	start := c.start
	start.File = file
	text, syntax := strings.CutPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		text = text[len(m[0]):]
		if yamlParser.MatchString(text) {
			n++
		}
		start.Line, start.Column = start.Line+n-1, c.firstColumn(n)
	}
	if syntax {
		text = "not YAML: " + text
	}
	if d := helmDirective.Find(c.text); syntax && d != nil {
		text += fmt.Sprintf("; %s is a directive of Helm: %s", d, renderFirst)
	}
	return Located{Position: start, Error: &Error{Path: path, Offset: -1, Err: errors.New(text)}}
}

// firstColumn is where the text of the n-th line of the chunk begins; 1 if it has none.
func (c chunk) firstColumn(n int) int {
	lines := bytes.Split(c.text, []byte("\n"))
	if n < 1 || n > len(lines) {
		return 1
	}
	column := 1 + len(lines[n-1]) - len(bytes.TrimLeft(lines[n-1], " "))
	if n == 1 {
		column += c.start.Column - 1
	}
	return column
}

// Sub returns the part of the document at path, as a separate document whose paths begin there.
func (d *Document) Sub(path string, value any) *Document {
	return &Document{Value: value, file: d.file, start: d.start, text: d.text, of: d, path: path}
}

// Release drops everything except the text; the rest takes about fifty times as much memory.
// Afterwards Value is nil, and the next method that needs the rest reads the text again. Release
// must not be called while another goroutine uses the document.
func (d *Document) Release() {
	d.Value, d.root, d.keys, d.nodes, d.twice = nil, nil, nil, nil, nil
	d.once = sync.Once{}
}

// tree returns the nodes of the document.
func (d *Document) tree() *yamlv3.Node {
	root := d.root
	switch {
	case d.of != nil:
		d.of.index()
		root = cmp.Or(d.of.nodes[d.path], new(yamlv3.Node))
	case root == nil:
		root = new(yamlv3.Node)
		_ = yamlv3.Unmarshal(d.text, root) // it was read before without an error
	}
	if root.Kind == yamlv3.DocumentNode && len(root.Content) > 0 {
		root = root.Content[0]
	}
	return root
}

// Duplicates returns a warning for each key that occurs twice in its mapping; the last one counts.
func (d *Document) Duplicates() []*Error {
	d.index()
	var faults []*Error
	for i, path := range d.twice {
		if i > 0 && isBelow(path, faults[len(faults)-1].Path) {
			continue // the whole of it is given twice
		}
		faults = append(faults, &Error{Path: path, Offset: AtKey, Warning: true, Err: errors.New("the key is given twice")})
	}
	return faults
}

func isBelow(path, other string) bool {
	rest, found := strings.CutPrefix(path, other)
	return found && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "["))
}

// Locate finds the place of a fault: of the token inside the text of a field if the offset is
// known, else of the field, else of the nearest field around it that the document has.
func (d *Document) Locate(e *Error) Position {
	d.index()
	path := e.Path
	for ; path != ""; path = parent(path) {
		if d.nodes[path] != nil {
			break
		}
	}
	key, node := d.keys[path], d.nodes[path]
	switch {
	case node == nil:
		return Position{File: d.file, Line: d.start.Line}
	case path == e.Path && e.Offset >= 0 && node.Kind == yamlv3.ScalarNode:
		return d.within(node, e.Offset)
	case key != nil && (e.Offset == AtKey || path != e.Path || node.Kind != yamlv3.ScalarNode):
		return d.at(key.Line, key.Column)
	default:
		return d.at(node.Line, node.Column)
	}
}

// at turns a place in the document's text into one in the file.
func (d *Document) at(line, column int) Position {
	if line == 1 {
		column += d.start.Column - 1
	}
	return Position{File: d.file, Line: d.start.Line + line - 1, Column: column}
}

// index fills the tables of nodes by path, once.
func (d *Document) index() { d.once.Do(d.build) }

func (d *Document) build() {
	d.keys, d.nodes = map[string]*yamlv3.Node{}, map[string]*yamlv3.Node{}
	d.walk("", d.tree())
}

// walk indexes a node and all nodes below it. An alias is a leaf, because its content is at its
// anchor.
func (d *Document) walk(path string, n *yamlv3.Node) {
	d.nodes[path] = n
	switch n.Kind {
	case yamlv3.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			child := Field(path, n.Content[i].Value)
			if d.keys[child] != nil {
				d.twice = append(d.twice, child)
			}
			d.keys[child] = n.Content[i]
			d.walk(child, n.Content[i+1])
		}
	case yamlv3.SequenceNode:
		for i, item := range n.Content {
			d.walk(Index(path, i), item)
		}
	}
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// Field is the path of the field name below path.
func Field(path, name string) string {
	switch {
	case !plainName.MatchString(name):
		return path + "[" + strconv.Quote(name) + "]"
	case path == "":
		return name
	default:
		return path + "." + name
	}
}

// Index is the path of item i below path.
func Index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Join puts a relative path below another.
func Join(path, rest string) string {
	if path == "" || rest == "" || strings.HasPrefix(rest, "[") {
		return path + rest
	}
	return path + "." + rest
}

// parent cuts the last field or index off a path. With a dot or bracket inside a quoted key it cuts
// off too little, which only costs another step.
func parent(path string) string {
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}
