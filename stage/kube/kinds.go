package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// rediscovery is the least time between two discoveries. It is short enough for a user who waits
// for a new definition. It is long enough to spare the server if a program repeatedly asks for a
// kind that does not exist.
const rediscovery = 2 * time.Second

// kinds has the resources of kinds. It asks its mapper once for each kind. It resets the mapper
// when the mapper does not know a kind, or when the server no longer has one.
type kinds struct {
	asking chan struct{} // has a token during a discovery; requests for known kinds do not wait for it
	mapper meta.RESTMapper
	looked time.Time // when the mapper was reset last

	mu    sync.RWMutex
	known map[schema.GroupVersionKind]mapping
	stale bool // the server no longer has a kind that the mapper knows
}

// A mapping is the resource of a kind, and whether it has namespaces.
type mapping struct {
	resource   schema.GroupVersionResource
	namespaced bool
}

func newKinds(mapper meta.RESTMapper) *kinds {
	return &kinds{asking: make(chan struct{}, 1), mapper: mapper, known: map[schema.GroupVersionKind]mapping{}}
}

// find returns the mapping of a kind. The error for a kind that does not exist is NotFound. A
// discovery that it begins goes on after ctx is done, for the next request.
func (k *kinds) find(ctx context.Context, gvk schema.GroupVersionKind) (mapping, error) {
	if m, ok, _ := k.recall(gvk); ok {
		return m, nil
	}
	select {
	case k.asking <- struct{}{}:
	case <-ctx.Done():
		return mapping{}, ctx.Err()
	}
	type result struct {
		mapping
		err error
	}
	found := make(chan result, 1)
	go func() {
		m, err := k.discover(gvk)
		<-k.asking
		found <- result{m, err}
	}()
	select {
	case r := <-found:
		return r.mapping, r.err
	case <-ctx.Done():
		return mapping{}, ctx.Err()
	}
}

// discover is called by one goroutine at a time.
func (k *kinds) discover(gvk schema.GroupVersionKind) (mapping, error) {
	m, ok, stale := k.recall(gvk)
	if ok {
		return m, nil // another goroutine has asked meanwhile
	}
	if stale {
		k.reset()
	}
	m, err := k.ask(gvk)
	if meta.IsNoMatchError(err) && k.reset() {
		m, err = k.ask(gvk)
	}
	if meta.IsNoMatchError(err) {
		return m, unknown(gvk)
	}
	if err == nil {
		k.remember(gvk, m)
	}
	return m, err
}

func (k *kinds) recall(gvk schema.GroupVersionKind) (m mapping, known, stale bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	m, known = k.known[gvk]
	return m, known, k.stale
}

// remember stores a mapping, unless the mapper might have read it before the server lost the kind.
func (k *kinds) remember(gvk schema.GroupVersionKind, m mapping) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.stale {
		k.known[gvk] = m
	}
}

func (k *kinds) ask(gvk schema.GroupVersionKind) (mapping, error) {
	m, err := k.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return mapping{}, err
	}
	return mapping{resource: m.Resource, namespaced: m.Scope.Name() == meta.RESTScopeNameNamespace}, nil
}

// reset makes the mapper discover the kinds again, unless it did so less than rediscovery ago.
func (k *kinds) reset() bool {
	now := time.Now()
	if !k.looked.IsZero() && now.Sub(k.looked) < rediscovery {
		return false
	}
	k.looked = now
	meta.MaybeResetRESTMapper(k.mapper)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stale = false
	return true
}

// explain returns an error unchanged, unless it says that the server does not have the resource:
// then it forgets the kind and returns the error for an unknown kind.
func (k *kinds) explain(gvk schema.GroupVersionKind, err error) error {
	if !apierrors.IsNotFound(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, gvk)
	k.stale = true
	return unknown(gvk)
}

// unknown is the error of an API server for a resource that it does not have.
func unknown(gvk schema.GroupVersionKind) error {
	err := apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, "")
	err.ErrStatus.Message = fmt.Sprintf("the server could not find the requested resource: %s is no known kind", gvk)
	return err
}

// unsupported says why a server refuses a patch type.
func unsupported(gvk schema.GroupVersionKind, t types.PatchType, err error) error {
	if t != types.StrategicMergePatchType || !apierrors.IsUnsupportedMediaType(err) {
		return err
	}
	return reworded(err, func(message string) string {
		return fmt.Sprintf("a custom resource such as %s takes no strategic merge patch; want type merge or json: %s", gvk, message)
	})
}

// missing rewords the NotFound of a server, which is the same for an object and for a subresource
// that do not exist.
func missing(gvk schema.GroupVersionKind, subresources []string, err error) error {
	if len(subresources) == 0 || !apierrors.IsNotFound(err) {
		return err
	}
	return reworded(err, func(message string) string {
		return fmt.Sprintf("%s, or %s has no subresource %s", message, gvk.Kind, strings.Join(subresources, "/"))
	})
}

// reworded returns the error of a server with another message.
func reworded(err error, message func(string) string) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err
	}
	s := status.Status()
	s.Message = message(s.Message)
	return &apierrors.StatusError{ErrStatus: s}
}
