package jq

import (
	"reflect"
	"strings"

	"github.com/itchyny/gojq"
)

// walk visits every node of a program, children first, so that visit may change in place what it is
// given. Nodes are pointers to the structs of gojq's syntax tree.
func walk(query *gojq.Query, visit func(node any)) { walkValue(reflect.ValueOf(query), visit) }

func walkValue(v reflect.Value, visit func(node any)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walkValue(v.Elem(), visit)
			visit(v.Interface())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			walkValue(v.Field(i), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walkValue(v.Index(i), visit)
		}
	}
}

// namesIn returns the names of all functions and variables that a program uses or defines.
func namesIn(q *gojq.Query) map[string]bool {
	names := definedIn(q)
	walk(q, func(node any) {
		switch x := node.(type) {
		case *gojq.Func:
			names[x.Name] = true
		case *gojq.ObjectKeyVal:
			addVariable(names, x.Key)
		}
	})
	return names
}

// definedIn returns the names that a program defines: functions, their parameters, variables.
func definedIn(q *gojq.Query) map[string]bool {
	names := map[string]bool{}
	walk(q, func(node any) {
		switch x := node.(type) {
		case *gojq.FuncDef:
			names[x.Name] = true
			for _, a := range x.Args {
				names[a] = true
			}
		case *gojq.Pattern:
			names[x.Name] = true
		case *gojq.PatternObject:
			addVariable(names, x.Key)
		}
	})
	return names
}

// addVariable adds a key of an object if it is also a variable: {$name}.
func addVariable(names map[string]bool, key string) {
	if strings.HasPrefix(key, "$") {
		names[key] = true
	}
}
