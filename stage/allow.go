package stage

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// Allow limits what Stages may do, for programs that play Stages of other authors. Without an
// Allow, Stages may do everything that the player may. The zero Allow lets a Stage change and
// delete the object that it is played on, and create Events about the object, but not impersonate
// or apply. In each list "*" means all.
//
// [Compile] reports a forbidden Stage as a fault. If only the rendered object is forbidden, for
// example by its namespace, the transition returns an [*Error] instead of effects. Both wrap
// [ErrNotAllowed].
type Allow struct {
	// Users are the users whom effects may impersonate.
	Users []string
	// Apply lists the objects that apply steps may write. A key is a kind and group, such as
	// ConfigMap or RoleBinding.rbac.authorization.k8s.io; the value lists the allowed namespaces.
	// An empty list allows only the namespace of the object that the Stage is played on. Leave the
	// list empty for a cluster-scoped kind.
	Apply map[string][]string
	// Kinds are the kinds that Stages may be for, such as Pod or Job.batch. Empty: all.
	Kinds []string
}

// ErrNotAllowed is wrapped by errors about actions that [Allow] does not list.
var ErrNotAllowed = errors.New("not allowed here")

func notAllowed(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrNotAllowed)
}

// lists reports whether a list has a name, or "*".
func lists(names []string, name string) bool {
	return slices.Contains(names, name) || slices.Contains(names, "*")
}

// target returns the entry for a kind.
func (a *Allow) target(kind schema.GroupKind) (namespaces []string, ok bool) {
	own, ok := a.Apply[kind.String()]
	all, any := a.Apply["*"]
	return slices.Concat(own, all), ok || any
}

// write checks an object that a Stage applies. own is the namespace of the object that the Stage is
// played on. A nil Allow allows everything.
func (a *Allow) write(obj *unstructured.Unstructured, own string) error {
	if a == nil {
		return nil
	}
	kind := obj.GroupVersionKind().GroupKind()
	namespaces, ok := a.target(kind)
	at := obj.GetNamespace()
	switch {
	case !ok:
		return notAllowed("apply of %s", kind)
	case at == "" || at == own || lists(namespaces, at):
		return nil
	}
	return notAllowed("apply of %s in namespace %q", kind, at)
}

// allowed records the forbidden actions of a Stage that its text shows.
func (c *compiler) allowed(kind schema.GroupVersionKind) {
	a := c.options.Allow
	if a != nil && len(a.Kinds) > 0 && !lists(a.Kinds, kind.GroupKind().String()) {
		c.fault("spec.resourceRef", notAllowed("stages for %s", kind.GroupKind()))
	}
}

// allowedUser records that a Stage impersonates a forbidden user.
func (c *compiler) allowedUser(path, user string) {
	if a := c.options.Allow; a != nil && user != "" && !lists(a.Users, user) {
		c.fault(path, notAllowed("impersonation of %q", user))
	}
}

// allowedApply records that a Stage applies a forbidden object, if the template names the kind.
func (c *compiler) allowedApply(path string, s *v1alpha1.StageApply) {
	a := c.options.Allow
	if a == nil {
		return
	}
	kind, known := writtenKind(s.Template)
	_, ok := a.target(kind)
	switch {
	case len(a.Apply) == 0:
		c.fault(path, notAllowed("apply, which writes other objects"))
	case known && !ok:
		c.fault(path, notAllowed("apply of %s", kind))
	}
}

var (
	kindLine  = regexp.MustCompile(`(?m)^kind: *["']?(\w+)["']? *$`)
	groupLine = regexp.MustCompile(`(?m)^apiVersion: *["']?([\w./-]+)["']? *$`)
)

// writtenKind returns the kind of the object in a template, if the text names the kind exactly once
// and without a template action.
func writtenKind(template string) (schema.GroupKind, bool) {
	kinds, versions := kindLine.FindAllStringSubmatch(template, -1), groupLine.FindAllStringSubmatch(template, -1)
	if len(kinds) != 1 || len(versions) != 1 {
		return schema.GroupKind{}, false
	}
	return schema.FromAPIVersionAndKind(versions[0][1], kinds[0][1]).GroupKind(), true
}
