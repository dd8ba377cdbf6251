package definitions_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/definitions"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A store fills in the default of a custom kind and refuses what its rule forbids.
func ExampleIndex() {
	cluster, ctx := memory.New(memory.Options{}), context.Background()
	cluster.Extend(definitions.New(definitions.Options{}).Hooks())
	cluster.Extend(definitions.Check())
	err := cluster.Load(ctx, []byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ovens.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: ovens, kind: Oven}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            default: {}
            properties:
              degrees: {type: integer, default: 180}
            x-kubernetes-validations: [{rule: self.degrees <= 300, message: it burns}]
---
apiVersion: example.com/v1
kind: Oven
metadata: {name: bread, namespace: default}
---
apiVersion: example.com/v1
kind: Oven
metadata: {name: pizza, namespace: default}
spec: {degrees: 450}
`))
	fmt.Println(err)
	bread, err := cluster.Get(ctx, schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Oven"}, types.NamespacedName{Namespace: "default", Name: "bread"})
	fmt.Println(bread.Object["spec"], err)
	// Output:
	// Oven "pizza": Oven.example.com "pizza" is invalid: spec: Invalid value: it burns
	// map[degrees:180] <nil>
}
