package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// methods are the methods that a template can call, a name a line. The tests of package render write and check the list.
//
//go:embed methods.txt
var methods string

// lookup is how text/template looks for a method. Because the name can be anything, the linker keeps every exported
// method of every type that a value can have: a quarter of the binary.
const lookup = "ptr.MethodByName(fieldName)"

// overlay writes a text/template, into a folder, that looks for the methods of a list by constant names, which the linker
// understands. Templates do the same with it. It returns a file for the flag -overlay of go build.
func overlay(folder string) (file string, err error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "text", "template", "exec.go")
	text, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	changed, err := withConstantNames(string(text))
	if err != nil {
		return "", fmt.Errorf("%s: %w", original, err)
	}
	replacement := filepath.Join(folder, "exec.go")
	table, err := json.Marshal(map[string]map[string]string{"Replace": {original: replacement}})
	if err != nil {
		return "", err
	}
	file = filepath.Join(folder, "overlay.json")
	return file, writeAll(map[string]string{replacement: changed, file: string(table)})
}

// withConstantNames changes the source of text/template. A source without the one lookup is of a Go that is not known
// here: then it is better to fail than to build something else.
func withConstantNames(source string) (string, error) {
	if n := strings.Count(source, lookup); n != 1 {
		return "", fmt.Errorf("want %s once, and it is there %d times: this Go needs another packaging/overlay.go", lookup, n)
	}
	var b strings.Builder
	b.WriteString(strings.Replace(source, lookup, "methodByName(ptr, fieldName)", 1))
	b.WriteString("\nfunc methodByName(v reflect.Value, name string) reflect.Value {\n\tswitch name {\n")
	for _, name := range strings.Fields(methods) {
		fmt.Fprintf(&b, "\tcase %q:\n\t\treturn v.MethodByName(%q)\n", name, name)
	}
	b.WriteString("\t}\n\treturn reflect.Value{}\n}\n")
	return b.String(), nil
}

func writeAll(texts map[string]string) error {
	for file, text := range texts {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
