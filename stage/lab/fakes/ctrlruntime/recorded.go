package ctrlruntime

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrl "sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// recorded is a controller of controller-runtime that was added to a manager.
type recorded struct {
	name       string
	reconciler ctrl.Reconciler
	sources    *[]source.Source // it watches more after it was added
}

// recordedOf reads the parts of a controller. It starts the sources one after another, so that
// their requests come in the order of the program; controller-runtime starts them at the same time.
func recordedOf(r manager.Runnable) (*recorded, error) {
	v := reflect.Indirect(reflect.ValueOf(r))
	if v.Kind() != reflect.Struct || !v.CanAddr() {
		return nil, notAController(r)
	}
	name, do, sources := v.FieldByName("Name"), v.FieldByName("Do"), v.FieldByName("startWatches")
	if name.Kind() != reflect.String || !do.IsValid() || !sources.IsValid() {
		return nil, notAController(r)
	}
	reconciler, ok := do.Interface().(ctrl.Reconciler)
	if !ok {
		return nil, fmt.Errorf("controller %s has requests that are no reconcile.Request", name)
	}
	if sources.Type() != reflect.TypeFor[[]source.Source]() {
		return nil, fmt.Errorf("controller %s has sources of another type, %s: is this version of controller-runtime supported?", name, sources.Type())
	}
	// The field is not exported: a controller does not say what it watches.
	list := (*[]source.Source)(unsafe.Pointer(sources.UnsafeAddr()))
	return &recorded{name: name.String(), reconciler: reconciler, sources: list}, nil
}

func notAController(r manager.Runnable) error {
	return fmt.Errorf("a hunt runs controllers only, not a %T", r)
}

// start starts the sources and returns a controller of the lab.
func (c *recorded) start(cache *informers) (reconcile.Controller, error) {
	q := &keys{}
	cache.asked = nil
	for _, s := range *c.sources {
		if err := c.startSource(cache, s, q); err != nil {
			return reconcile.Controller{}, err
		}
	}
	if len(cache.asked) == 0 {
		return reconcile.Controller{}, errors.New("it watches nothing")
	}
	made := Controller(c.reconciler, cache.asked[0].kind)
	made.Name, made.When = c.name, func(reconcile.Change) bool { return false }
	for _, i := range cache.asked {
		made.Watches = append(made.Watches, i.watch(q))
	}
	do := made.Reconcile
	made.Reconcile = func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		if q.stray {
			return reconcile.Result{}, errors.New("a source has put a key into the queue that no change was about: it is not modelled")
		}
		return do(ctx, r)
	}
	return made, nil
}

// startSource starts a source of informers.
func (c *recorded) startSource(cache *informers, s source.Source, q *keys) error {
	waits, isKind := s.(source.SyncingSource)
	if _, isInformer := s.(*source.Informer); !isKind && !isInformer {
		return fmt.Errorf("source %v (%T) is no informer", s, s)
	}
	if err := s.Start(cache.context, q); err != nil || !isKind {
		return err
	}
	return waits.WaitForSync(cache.context)
}
