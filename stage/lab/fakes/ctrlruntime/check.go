package ctrlruntime

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrl "sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// checkReconciler returns an error for a reconciler that is nil, or that has fields for a client, all
// of them nil. Such a reconciler would panic at its first request.
func checkReconciler(r ctrl.Reconciler) error {
	v := reflect.ValueOf(r)
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return errors.New("the reconciler is nil")
	}
	if v = reflect.Indirect(v); v.Kind() != reflect.Struct {
		return nil
	}
	var clients clientFields
	clients.add(v)
	if clients.isSet || len(clients.unset) == 0 {
		return nil
	}
	return fmt.Errorf("%s has no client (nil: %s); give the reconciler its client when you create it, in labtest.Options.Operator or the function of a hunt's process",
		v.Type(), strings.Join(clients.unset, ", "))
}

// clientFields are the fields of a reconciler for clients.
type clientFields struct {
	unset []string
	isSet bool // one of them
}

var clientType = reflect.TypeFor[client.Client]()

// add adds the fields of a struct, and of the structs that it embeds.
func (c *clientFields) add(v reflect.Value) {
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		switch {
		case field.Type.Kind() == reflect.Interface && field.Type.Implements(clientType):
			if c.isSet = c.isSet || !value.IsNil(); value.IsNil() {
				c.unset = append(c.unset, field.Name)
			}
		case field.Anonymous && reflect.Indirect(value).Kind() == reflect.Struct:
			c.add(reflect.Indirect(value))
		}
	}
}
