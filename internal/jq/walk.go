package jq

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
)

// walk visits every node of a program, children first, so that visit can change a node in place.
// Nodes are pointers to the structs of gojq's syntax tree.
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

// namesIn returns the names that a program uses or defines: functions, with the number of arguments
// as in "sort/0", and variables, as in "$x".
func namesIn(q *gojq.Query) map[string]bool {
	names := map[string]bool{}
	function := func(name string, args int) {
		if !strings.HasPrefix(name, "$") {
			name += "/" + strconv.Itoa(args)
		}
		names[name] = true
	}
	variable := func(key string) { // of an object, as in {$x}
		if strings.HasPrefix(key, "$") {
			names[key] = true
		}
	}
	walk(q, func(node any) {
		switch x := node.(type) {
		case *gojq.Func:
			function(x.Name, len(x.Args))
		case *gojq.FuncDef:
			function(x.Name, len(x.Args))
			for _, parameter := range x.Args {
				function(parameter, 0)
			}
		case *gojq.Pattern:
			variable(x.Name)
		case *gojq.PatternObject:
			variable(x.Key)
		case *gojq.ObjectKeyVal:
			variable(x.Key)
		}
	})
	return names
}
