package definitions

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A Converter returns the objects of a Conversion in the wanted version, in the same order, like
// the conversion webhook of a definition. It gets copies, which it may change and return. It must
// keep kinds, names, namespaces and uids, and can change labels and annotations; changes of other
// metadata have no effect. At most 500 objects come at once, and several only if they have at most
// 2 MiB together. It is called without the lock of the cluster, by several goroutines.
type Converter func(context.Context, memory.Conversion) ([]*unstructured.Unstructured, error)

// The limits of what a Converter gets at once.
const (
	mostConverted  = 500
	mostConverting = 2 << 20 // bytes
)

// convert converts objects like kube-apiserver. It fills in the defaults of stored objects by the
// schema of the version in which they are stored, and prunes the result by the schema of the wanted
// version. It fills in no defaults of the wanted version.
func (x *Index) convert(ctx context.Context, c memory.Conversion) ([]*unstructured.Unstructured, error) {
	if x.options.Convert == nil {
		return nil, errors.New(noConverter)
	}
	to, err := x.versionOf(c.Definition, c.APIVersion, "to")
	if err != nil {
		return nil, err
	}
	given := make([]*unstructured.Unstructured, len(c.Objects))
	for i, obj := range c.Objects {
		from, err := x.versionOf(c.Definition, obj.GetAPIVersion(), "from")
		if err != nil {
			return nil, err
		}
		if given[i] = obj.DeepCopy(); c.Purpose == memory.ToRead {
			from.fill(given[i].Object)
		}
	}
	c.Objects = given
	all, err := x.inParts(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, obj := range all {
		if c.Purpose == memory.ToCompare {
			if err := to.declares(obj); err != nil {
				return nil, err
			}
		}
		to.prune(obj.Object)
	}
	return all, nil
}

// declares returns an error if an object has fields that the schema does not have, as
// kube-apiserver does when it compares the fields of managers.
func (v *version) declares(obj *unstructured.Unstructured) error {
	paths, err := v.unknown(obj.DeepCopy().Object)
	if err != nil || len(paths) == 0 {
		return err
	}
	for i, path := range paths {
		paths[i] = fmt.Sprintf(".%s: field not declared in schema", path)
	}
	if len(paths) == 1 {
		return errors.New(paths[0])
	}
	return errors.New("errors:\n  " + strings.Join(paths, "\n  "))
}

// versionOf returns the schema of an apiVersion. The error is the one of kube-apiserver.
func (x *Index) versionOf(crd *unstructured.Unstructured, apiVersion, direction string) (*version, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	if gv.Group != group || !slices.Contains(versionNames(crd), gv.Version) {
		return nil, fmt.Errorf("request to convert CR %s an invalid group/version: %s", direction, apiVersion)
	}
	return x.schema(crd, gv.Version)
}

func versionNames(crd *unstructured.Unstructured) (names []string) {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		fields, _ := v.(map[string]any)
		name, _ := fields["name"].(string)
		names = append(names, name)
	}
	return names
}

// inParts calls the Converter as often as its limits need.
func (x *Index) inParts(ctx context.Context, c memory.Conversion) (all []*unstructured.Unstructured, _ error) {
	for rest := c.Objects; len(rest) > 0; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, bytes := 1, sizeOf(rest[0].Object)
		for n < min(len(rest), mostConverted) {
			if bytes += sizeOf(rest[n].Object); bytes > mostConverting {
				break
			}
			n++
		}
		c.Objects, rest = rest[:n], rest[n:]
		part, err := x.callConverter(ctx, c)
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	return all, nil
}

// callConverter calls the Converter and checks its answer. A panic is an error of the request.
func (x *Index) callConverter(ctx context.Context, c memory.Conversion) (converted []*unstructured.Unstructured, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the conversion of %s to %s panics: %v", c.Objects[0].GroupVersionKind(), c.APIVersion, p)
		}
	}()
	before := make([]*unstructured.Unstructured, len(c.Objects))
	for i, obj := range c.Objects { // the Converter may change them
		before[i] = &unstructured.Unstructured{Object: map[string]any{"apiVersion": obj.GetAPIVersion(), "kind": obj.GetKind(), "metadata": runtime.DeepCopyJSONValue(obj.Object["metadata"])}}
	}
	if converted, err = x.options.Convert(ctx, c); err != nil {
		return nil, err
	}
	if len(converted) != len(before) {
		return nil, fmt.Errorf("conversion of %v returned %d objects, expected %d", before[0].GroupVersionKind(), len(converted), len(before))
	}
	for i, obj := range converted {
		if err := restore(before[i], obj, c.APIVersion); err != nil {
			return nil, fmt.Errorf("conversion of %v returned invalid object at index %d: %w", before[i].GroupVersionKind(), i, err)
		}
	}
	return converted, nil
}

// restore checks a converted object, and gives it the metadata of the object from which it was
// made, except for labels and annotations.
func restore(from, obj *unstructured.Unstructured, apiVersion string) error {
	if obj == nil || obj.Object == nil {
		return errors.New("it has no fields")
	}
	for _, must := range []struct{ what, is, want any }{
		{"groupVersion", obj.GetAPIVersion(), apiVersion},
		{"kind", obj.GetKind(), from.GetKind()},
		{"name", obj.GetName(), from.GetName()},
		{"namespace", obj.GetNamespace(), from.GetNamespace()},
		{"UID", obj.GetUID(), from.GetUID()},
	} {
		if must.is != must.want {
			return fmt.Errorf("invalid %v (expected %v, received %v)", must.what, must.want, must.is)
		}
	}
	given, _ := obj.Object["metadata"].(map[string]any)
	metadata, _ := from.Object["metadata"].(map[string]any)
	for _, name := range []string{"labels", "annotations"} {
		if delete(metadata, name); given[name] != nil {
			metadata[name] = given[name]
		}
	}
	obj.Object["metadata"] = metadata
	return nil
}

const noConverter = "nothing converts objects here: give Options.Convert of package definitions or labtest a Go function, serve the cluster by package apiserver, which calls the webhook, or use None"

// conversionFaults refuses a definition whose objects have to be converted if nothing converts
// them.
func (x *Index) conversionFaults(now, before *unstructured.Unstructured) field.ErrorList {
	if x.options.Convert != nil || before != nil && reflect.DeepEqual(before.Object["spec"], now.Object["spec"]) || !needsConverter(now) {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "conversion", "strategy"), noConverter)}
}

// needsConverter reports whether objects can be read in another version than the one in which they
// are stored, and whether more than apiVersion differs between the two.
func needsConverter(crd *unstructured.Unstructured) bool {
	strategy, _, _ := unstructured.NestedString(crd.Object, "spec", "conversion", "strategy")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	used := slices.DeleteFunc(versions, func(v any) bool {
		fields, _ := v.(map[string]any)
		return fields["served"] != true && fields["storage"] != true
	})
	return strategy == "Webhook" && len(used) > 1
}
