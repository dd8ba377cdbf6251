// Package builtin knows the defaults that kube-apiserver 1.36 fills into objects of built-in kinds.
//
// The defaults are data in defaults.json. Package stage/lab/internal/oracle/defaults writes this
// file: it calls the functions of Kubernetes for each type. Defaults that depend on other fields
// are in computed.go. The oracle compares this package with the functions of Kubernetes on random
// objects.
package builtin

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Data are the defaults of kinds.
type Data struct {
	Types map[string]*Type  `json:"types"`
	Kinds map[string]string `json:"kinds"` // names of types, by "apps/v1 Deployment"
}

// A Type has the defaults of the objects of a type. Its name is the name in Go. If the type has
// different defaults in different places, a slash and a number follow.
type Type struct {
	Set    map[string]any   `json:"set,omitempty"`    // values of fields that are missing
	Zero   []string         `json:"zero,omitempty"`   // fields of these that also count as missing if they are "" or 0
	Fields map[string]Child `json:"fields,omitempty"` // fields that have defaults below them

	order    []string           // of fields with defaults: fields that depend on others come first
	computed map[string]compute // fields that depend on other fields
	finish   func(*copied)      // changes other than defaults
	children []child            // Fields with their types
}

// A Child is a field that has defaults below it.
type Child struct {
	Type string `json:"type"`
	Form Form   `json:"form,omitempty"`
}

// A Form is how a field holds objects of a type.
type Form string

// The forms of fields.
const (
	Struct Form = ""
	List   Form = "list"
	Map    Form = "map"
)

type child struct {
	name string
	form Form
	when func(map[string]any) bool // nil: always
	*Type
}

//go:embed defaults.json
var defaultsJSON []byte

// load reads the data, once.
var load = sync.OnceValue(func() *Data {
	d := &Data{}
	if err := utiljson.Unmarshal(defaultsJSON, d); err != nil {
		panic(fmt.Sprintf("builtin: defaults.json: %v", err)) // it is part of the program
	}
	d.link()
	return d
})

// Encode returns the data in the form of the file.
func (d *Data) Encode() ([]byte, error) {
	data, err := json.MarshalIndent(d, "", " ")
	return append(data, '\n'), err
}
