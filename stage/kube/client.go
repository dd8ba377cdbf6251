package kube

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/dynamic"

	"github.com/stagecraft-go/stagecraft/stage/kube/internal/codec"
)

// A client reads objects as protobuf where it can: that costs the server, and whoever reads, less than JSON.
type client struct {
	text   dynamic.Interface
	binary dynamic.Interface // nil: everything is read as JSON
	shapes *codec.Shapes     // of the kinds that can be read as protobuf
	age    *age
}

// of returns the client for the objects of a kind.
func (c client) of(ctx context.Context, gvk schema.GroupVersionKind) dynamic.Interface {
	if c.binary != nil && c.shapes.Has(gvk) && c.age.known(ctx) {
		return c.binary
	}
	return c.text
}

// minor is the version 1.minor of Kubernetes whose kinds are known field by field: that of the module k8s.io/api.
const minor = 37

// An age is whether a server is of a version that is known. JSON has the names of what is new in later versions, protobuf has not.
type age struct {
	ask func(context.Context) (*version.Info, error)

	mu           sync.Mutex
	asked, older bool
	next         time.Time // when to ask again
}

// known asks the server until it answers, but not all the time. Before that, and if it does not want to say, it is taken to be later.
func (a *age) known(ctx context.Context) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asked || time.Now().Before(a.next) {
		return a.older
	}
	info, err := a.ask(ctx)
	a.asked = err == nil || apierrors.IsForbidden(err) || apierrors.IsNotFound(err)
	a.older = err == nil && isKnown(info)
	a.next = time.Now().Add(rediscovery)
	return a.older
}

func isKnown(v *version.Info) bool {
	n, err := strconv.Atoi(strings.TrimRight(v.Minor, "+")) // providers write 36+
	return err == nil && v.Major == "1" && n <= minor
}
