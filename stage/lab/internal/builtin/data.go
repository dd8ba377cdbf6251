// Package builtin knows what kube-apiserver 1.36 fills in in objects of built-in kinds.
//
// What is filled in is data, defaults.json, which stage/lab/internal/oracle/defaults writes by asking the
// functions of Kubernetes about each type; what depends on other fields is in computed.go. There the
// package is compared with the functions of Kubernetes on random objects.
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

// A Type says what is filled in in the objects of a type. Its name is that in Go, with a number
// after a slash if it is filled in differently in different places.
type Type struct {
	Set    map[string]any   `json:"set,omitempty"`    // values of fields that are missing
	Zero   []string         `json:"zero,omitempty"`   // fields of these that also count as missing if they are "" or 0
	Fields map[string]Child `json:"fields,omitempty"` // fields in which something may be filled in

	order    []string           // of fields that may be filled in: what depends on others comes first
	computed map[string]compute // what depends on other fields
	finish   func(*copied)      // what is more than filling in
	children []child            // Fields with their types
}

// A Child is a field in which something may be filled in.
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

// Encode returns the data as it is stored.
func (d *Data) Encode() ([]byte, error) {
	data, err := json.MarshalIndent(d, "", " ")
	return append(data, '\n'), err
}
