package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// A document is the part of a file that holds one value, of YAML or JSON.
type document struct {
	file string
	line int // of the first byte of text, from 1
	text []byte
}

var separator = regexp.MustCompile(`(?m)^---([ \t].*)?\r?$`)

// split divides a file at the separators of YAML, and a stream of JSON into its values.
func split(file string, data []byte) (documents []document) {
	begin, line := 0, 1
	add := func(end int) {
		d := document{file, line, data[begin:end]}
		line += bytes.Count(d.text, []byte("\n"))
		begin = end
		documents = append(documents, d.values()...)
	}
	for _, at := range separator.FindAllIndex(data, -1) {
		add(at[0])
	}
	add(len(data))
	return documents
}

// values divides a document that is JSON into its values. Any other document stays whole.
func (d document) values() (documents []document) {
	if text := bytes.TrimSpace(d.text); len(text) == 0 || text[0] != '{' {
		return []document{d}
	}
	dec := json.NewDecoder(bytes.NewReader(d.text))
	for dec.More() {
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return []document{d}
		}
		documents = append(documents, document{d.file, d.lineAt(dec.InputOffset() - int64(len(value))), value})
	}
	return documents
}

// fields decodes the document. It returns nil if the document is empty.
func (d document) fields() (map[string]any, error) {
	data := d.text
	if !json.Valid(data) {
		var err error
		if data, err = yaml.YAMLToJSONStrict(d.text); err != nil {
			return nil, d.faults(err)
		}
	} else if key, offset := repeated(data); offset > 0 {
		return nil, d.fault(d.lineAt(offset), "key %q is there twice", key)
	}
	var value any
	if err := utiljson.Unmarshal(data, &value); err != nil {
		return nil, d.fault(d.line, "%v", err)
	}
	fields, ok := value.(map[string]any)
	if !ok && value != nil {
		return nil, d.fault(d.lineOf(), "it is no object")
	}
	return fields, nil
}

// A level is a map or list around the current position in a scan of JSON.
type level struct {
	keys map[string]bool // nil in a list
	key  bool            // a key comes next
}

// repeated returns the first key that occurs twice in a map of valid JSON, and the offset after it;
// 0 without such a key. A decoder would silently use the last value.
func repeated(data []byte) (key string, offset int64) {
	stack := []level{{}}
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		token, err := dec.Token()
		if err != nil {
			return "", 0
		}
		top := &stack[len(stack)-1]
		name, text := token.(string)
		switch {
		case token == json.Delim('}') || token == json.Delim(']'):
			stack = stack[:len(stack)-1]
			continue
		case top.key && text && top.keys[name]:
			return name, dec.InputOffset()
		case top.key && text:
			top.keys[name], top.key = true, false
			continue
		}
		top.key = top.keys != nil
		switch token {
		case json.Delim('{'):
			stack = append(stack, level{map[string]bool{}, true})
		case json.Delim('['):
			stack = append(stack, level{})
		}
	}
}

// fault returns an error with its position.
func (d document) fault(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", d.file, line, fmt.Errorf(format, args...))
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// faults returns the errors of the YAML library, which writes a line for each and counts lines from
// the beginning of the document.
func (d document) faults(err error) error {
	var errs []error
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:\n")
	for text := range strings.Lines(text) {
		text, line := strings.TrimSpace(text), 1
		if m := yamlLine.FindStringSubmatch(text); m != nil {
			line, _ = strconv.Atoi(m[1])
			text = text[len(m[0]):]
		}
		if key, twice := strings.CutSuffix(text, " already set in map"); twice {
			text = key + " is there twice"
		} else {
			text = "not YAML: " + text
		}
		errs = append(errs, d.fault(d.line+line-1, "%s", text))
	}
	return errors.Join(errs...)
}

// lineOf returns the line of the field at a path of keys and indexes, or of the nearest field
// around it. It parses the document again, which only faults need.
func (d document) lineOf(path ...any) int {
	var root yamlv3.Node
	if yamlv3.Unmarshal(d.text, &root) != nil || len(root.Content) == 0 {
		return d.line
	}
	node := root.Content[0]
	for _, step := range path {
		next := child(node, step)
		if next == nil {
			break
		}
		node = next
	}
	return d.line + node.Line - 1
}

func child(n *yamlv3.Node, step any) *yamlv3.Node {
	if i, ok := step.(int); ok && n.Kind == yamlv3.SequenceNode && i < len(n.Content) {
		return n.Content[i]
	}
	for i := 0; n.Kind == yamlv3.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == step {
			return n.Content[i+1]
		}
	}
	return nil
}

func (d document) lineAt(offset int64) int {
	return d.line + bytes.Count(d.text[:offset], []byte("\n"))
}

// readDocuments reads the documents of a file.
func readDocuments(file string, r io.Reader) ([]document, error) {
	data, err := io.ReadAll(r)
	return split(file, bytes.TrimPrefix(data, []byte("\ufeff"))), err
}
