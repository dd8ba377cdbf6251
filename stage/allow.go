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

// Allow is what Stages may do, for programs that play the Stages of others. Without it they may do
// everything that the player may. The zero Allow lets them change and delete the objects that they
// are played on, and make Events about these; they neither impersonate nor apply. In each list "*"
// stands for all.
//
// What [Compile] sees is a fault of the Stage. What only the rendered object tells, such as its
// namespace, is an [*Error] in place of the effects of the transition. Both wrap
// [ErrNotAllowed].
type Allow struct {
	// Users are those whom effects may impersonate.
	Users []string
	// Apply are the objects that apply steps may write: by kind and group, such as ConfigMap or
	// RoleBinding.rbac.authorization.k8s.io, the namespaces of the objects. Without a namespace, only that
	// of the object the Stage is played on. For a kind without namespaces give none.
	Apply map[string][]string
	// Kinds are the kinds that Stages may be for, such as Pod or Job.batch. Empty: all.
	Kinds []string
}

// ErrNotAllowed is wrapped by the errors about what [Allow] does not list.
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

// write checks an object that a Stage applies, played on an object of a namespace. Nil allows all.
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

// allowed records what the Stage does that the options do not allow, as far as the text tells.
func (c *compiler) allowed(kind schema.GroupVersionKind) {
	a := c.options.Allow
	if a != nil && len(a.Kinds) > 0 && !lists(a.Kinds, kind.GroupKind().String()) {
		c.fault("spec.resourceRef", notAllowed("stages for %s", kind.GroupKind()))
	}
}

// allowedUser records that a Stage impersonates somebody whom it must not.
func (c *compiler) allowedUser(path, user string) {
	if a := c.options.Allow; a != nil && user != "" && !lists(a.Users, user) {
		c.fault(path, notAllowed("impersonation of %q", user))
	}
}

// allowedApply records that a Stage applies what it must not, if the template names the kind.
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

// writtenKind is the kind of the object of a template, if the text says it once and has no action
// there.
func writtenKind(template string) (schema.GroupKind, bool) {
	kinds, versions := kindLine.FindAllStringSubmatch(template, -1), groupLine.FindAllStringSubmatch(template, -1)
	if len(kinds) != 1 || len(versions) != 1 {
		return schema.GroupKind{}, false
	}
	return schema.FromAPIVersionAndKind(versions[0][1], kinds[0][1]).GroupKind(), true
}
