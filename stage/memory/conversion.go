package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/object"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A Conversion asks [Hooks.Convert] for objects of a custom kind in another version.
type Conversion struct {
	Definition *unstructured.Unstructured // the CustomResourceDefinition; it must not be changed
	APIVersion string                     // the wanted version, such as "example.com/v2"
	// Objects have other versions than the wanted one, and can have different ones. They must not
	// be changed.
	Objects []*unstructured.Unstructured
	Purpose Purpose
}

// A Purpose is the reason for a Conversion.
type Purpose uint8

const (
	ToRead    Purpose = iota // the objects are stored, and a request reads them
	ToStore                  // a request stores the object
	ToCompare                // the fields of managers that write in different versions are compared
)

// A form says how the objects of a custom kind are stored. It is immutable.
type form struct {
	apiVersion string                     // of the storage version; "": an object keeps the version in which it was created
	definition *unstructured.Unstructured // nil: between versions only apiVersion changes
	versions   []string                   // the apiVersions of the definition, served or not; nil without one
}

// checkOwners returns an error if a manager owns fields of an object in a version that the definition
// no longer has. Such fields cannot be compared with others.
func (f form) checkOwners(obj map[string]any) error {
	entries, _ := metadataOf(obj)["managedFields"].([]any)
	for _, e := range entries {
		entry, _ := object.ToMap(e)
		if version, _ := object.String(entry, "apiVersion"); f.versions != nil && !slices.Contains(f.versions, version) {
			return fmt.Errorf("request to convert CR to an invalid group/version: %s", version)
		}
	}
	return nil
}

// replicas returns the path of the desired number of replicas in a version; nil without a scale.
func (f form) replicas(apiVersion string) []string {
	versions, _ := object.Slice(f.definition.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := object.ToMap(v)
		name, _ := object.String(version, "name")
		path, has := object.String(version, "subresources", "scale", "specReplicasPath")
		if group, _ := object.String(f.definition.Object, "spec", "group"); has && apiVersion == group+"/"+name {
			return strings.Split(strings.TrimPrefix(path, "."), ".")
		}
	}
	return nil
}

// formOf reads spec.conversion and the storage version of a definition.
func formOf(crd *unstructured.Unstructured) form {
	var f form
	if names := storedVersions(crd.Object); len(names) > 0 {
		name, _ := names[0].(string)
		f.apiVersion = schema.GroupVersion{Group: definedResource(crd.Object).Group, Version: name}.String()
	}
	versions, _ := object.Slice(crd.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := object.ToMap(v)
		name, _ := object.String(version, "name")
		f.versions = append(f.versions, schema.GroupVersion{Group: definedResource(crd.Object).Group, Version: name}.String())
	}
	if strategy, _ := object.String(crd.Object, "spec", "conversion", "strategy"); strategy != "" && strategy != "None" {
		f.definition = crd
	}
	return f
}

// converts reports whether the versions of a kind differ in more than apiVersion.
func (k *kind) converts() bool { return k.form.definition != nil }

// versions returns objects in the version of a kind: the given slice, if each object has this
// version. The caller does not hold the lock.
func (s *store) versions(ctx context.Context, k *kind, objs []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	if k.table.apiVersion == k.apiVersion {
		return objs, nil
	}
	s.mu.RLock()
	if current := s.kinds[k.GroupVersionKind]; current != nil { // a watch can be older than the definition
		k = current
	}
	s.mu.RUnlock()
	return s.converted(ctx, k, objs, Conversion{APIVersion: k.apiVersion, Definition: k.form.definition, Purpose: ToRead})
}

// asVersion is versions for one object.
func (s *store) asVersion(ctx context.Context, k *kind, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if k.table.apiVersion == k.apiVersion || obj.Object["apiVersion"] == k.apiVersion {
		return obj, nil
	}
	objs, err := s.versions(ctx, k, []*unstructured.Unstructured{obj})
	if err != nil {
		return nil, err
	}
	return objs[0], nil
}

// converted returns objects in the version of a Conversion, without the lock.
func (s *store) converted(ctx context.Context, k *kind, objs []*unstructured.Unstructured, c Conversion) ([]*unstructured.Unstructured, error) {
	for _, obj := range objs {
		if obj.Object["apiVersion"] != c.APIVersion {
			c.Objects = append(c.Objects, obj)
		}
	}
	if len(c.Objects) == 0 {
		return objs, nil
	}
	others, err := s.convert(ctx, c)
	if err != nil {
		return nil, answer(err)
	}
	if len(others) != len(c.Objects) {
		return nil, apierrors.NewInternalError(fmt.Errorf("the conversion of %d objects of %s returns %d objects", len(c.Objects), k.groupResource(), len(others)))
	}
	objs = slices.Clone(objs)
	for i, obj := range objs {
		if obj.Object["apiVersion"] != c.APIVersion {
			objs[i], others = others[0], others[1:]
		}
	}
	return objs, nil
}

// convert calls the hook. Without a hook only apiVersion changes.
func (s *store) convert(ctx context.Context, c Conversion) ([]*unstructured.Unstructured, error) {
	if hook := s.converter(); hook != nil && c.Definition != nil {
		if ctx == nil {
			ctx = context.Background()
		}
		return hook(ctx, c)
	}
	others := make([]*unstructured.Unstructured, len(c.Objects))
	for i, obj := range c.Objects {
		other := maps.Clone(obj.Object)
		other["apiVersion"] = c.APIVersion
		others[i] = &unstructured.Unstructured{Object: other}
	}
	return others, nil
}

// Convert returns an object in another version of its kind, such as "example.com/v2". For built-in
// kinds, and for custom kinds without a conversion, only apiVersion differs. The result can share
// parts with the object. Convert does not need the object to be stored.
func (c *Cluster) Convert(ctx context.Context, obj *unstructured.Unstructured, apiVersion string) (*unstructured.Unstructured, error) {
	c.mu.RLock()
	k, err := c.kindOf(obj.GroupVersionKind())
	c.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	objs, err := c.converted(ctx, k, []*unstructured.Unstructured{obj}, Conversion{APIVersion: apiVersion, Definition: k.form.definition, Purpose: ToStore})
	if err != nil {
		return nil, err
	}
	return objs[0], nil
}

// converter returns the Convert of the last hooks that have one.
func (s *store) converter() func(context.Context, Conversion) ([]*unstructured.Unstructured, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, h := range slices.Backward(s.hooks) {
		if h.Convert != nil {
			return h.Convert
		}
	}
	return nil
}

// see remembers the stored object in the version of the request. If versions differ in more than
// apiVersion, an object that a client has written in another version can lack defaults of the stored
// version, and readers see them.
func (r *request) see() (err error) {
	r.before = r.seen
	switch {
	case r.seen == nil || r.kind.table.apiVersion == r.kind.apiVersion:
		return nil
	case r.seen.Object["apiVersion"] == r.kind.apiVersion && r.kind.converts():
		read, err := r.asRead(r.seen.Object)
		r.before = &unstructured.Unstructured{Object: read}
		return err
	case r.seen.Object["apiVersion"] == r.kind.apiVersion:
		return nil
	}
	return r.unlocked(func() (err error) {
		r.before, err = r.asVersion(r.ctx, r.kind, r.seen)
		return err
	})
}

// inStorage returns the next version of an object in the version in which it is stored. If other objects
// have changed during the conversion, Review of the hooks runs again, because it can count them.
func (r *request) inStorage(before, next map[string]any) (map[string]any, error) {
	to := r.kind.form.apiVersion
	if to == "" {
		to = r.kind.apiVersion
		if r.seen != nil {
			to, _ = r.seen.Object["apiVersion"].(string)
		}
	}
	if next["apiVersion"] == to || r.dryRun {
		return next, nil
	}
	version := r.version
	var stored map[string]any
	err := r.unlocked(func() error {
		objs, err := r.store.converted(r.ctx, r.kind, []*unstructured.Unstructured{{Object: next}}, Conversion{APIVersion: to, Definition: r.kind.form.definition, Purpose: ToStore})
		if err == nil {
			stored = fork(objs[0].Object)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if r.version != version {
		return stored, r.reviews(r.reviewOf(before, next))
	}
	return stored, nil
}
