package policies

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"
	"google.golang.org/protobuf/types/known/structpb"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	celmutation "k8s.io/apiserver/pkg/cel/mutation"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// bounded limits the work of the JSON patches that an expression returns, as that of the patches of
// clients. The library that applies them has no limit.
type bounded struct{ cel.MutatingEvaluator }

// ForInput evaluates the expression and checks the patch.
func (b bounded) ForInput(ctx context.Context, a *admission.VersionedAttributes, r *admissionv1.AdmissionRequest, o cel.OptionalVariableBindings, n *corev1.Namespace, budget int64) (cel.EvaluationResult, int64, error) {
	result, left, err := b.MutatingEvaluator.ForInput(ctx, a, r, o, n, budget)
	if err != nil || result.Error != nil {
		return result, left, err
	}
	operations, is := result.EvalResult.(traits.Lister)
	object := objectOf(&a.VersionedObject)
	if !is || object == nil {
		return result, left, nil
	}
	text, err := operationsOf(operations)
	if err == nil {
		err = memory.CheckJSONPatch(object.Object, text)
	}
	return result, left, err
}

// objectOf returns the object of a field of VersionedAttributes, which is an interface, and since Kubernetes
// 0.37 a struct around it. It is nil for an object of another type.
func objectOf(field any) *unstructured.Unstructured {
	var obj runtime.Object
	switch f := field.(type) {
	case *runtime.Object:
		obj = *f
	case interface{ Object() runtime.Object }:
		obj = f.Object()
	}
	object, _ := obj.(*unstructured.Unstructured)
	return object
}

// mostOperations is how many operations are looked at: one more than a patch may have.
const mostOperations = 10_001

// operationsOf returns the operations of a patch as JSON.
func operationsOf(list traits.Lister) ([]byte, error) {
	var all []map[string]any
	for it := list.Iterator(); it.HasNext() == types.True && len(all) < mostOperations; {
		native, err := it.Next().ConvertToNative(reflect.TypeFor[*celmutation.JSONPatchVal]())
		if err != nil {
			return nil, err
		}
		op, is := native.(*celmutation.JSONPatchVal)
		if !is {
			return nil, fmt.Errorf("an operation is a %T", native)
		}
		fields := map[string]any{"op": op.Op, "path": op.Path}
		if op.From != "" {
			fields["from"] = op.From
		}
		if op.Val != nil {
			if fields["value"], err = op.Val.ConvertToNative(reflect.TypeFor[*structpb.Value]()); err != nil {
				return nil, err
			}
		}
		all = append(all, fields)
	}
	return json.Marshal(all)
}
