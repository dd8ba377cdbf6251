package celrule

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// A Group or Kind that no object can have is a fault: its expressions would never be evaluated, and
// no one would notice.

var version = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// checkGroup accepts valid groups and the wildcards of [kstatus.Rules.With].
func checkGroup(group string) error {
	name, versioned, _ := strings.Cut(group, "/")
	switch {
	case group == "" || group == "*":
		return nil
	case name != group && version.MatchString(versioned):
		return fmt.Errorf("%q is a group with a version; write %q, which stands for all versions", group, name)
	case group == "core" || version.MatchString(group):
		return fmt.Errorf("no group is called %q; that of core objects is empty: leave it out", group)
	case strings.Contains(strings.TrimPrefix(group, "*."), "*"):
		return fmt.Errorf("%q matches nothing; * stands for all groups, *.example.com for all below example.com", group)
	}
	if wrong := validation.IsDNS1123Subdomain(strings.TrimPrefix(group, "*.")); wrong != nil {
		return fmt.Errorf("%q is no name of a group, such as apps or example.com, or *.example.com", group)
	}
	return nil
}

// checkKind accepts the kinds that API servers accept, and "*". A kind in small letters can exist,
// but not in the groups of Kubernetes, and a plural is the name of a resource.
func checkKind(group, kind string) error {
	switch {
	case kind == "":
		return errors.New("is required; * stands for all kinds of the group")
	case kind == "*":
		return nil
	case strings.Contains(kind, "*"):
		return fmt.Errorf("%q matches nothing; only * by itself stands for all kinds", kind)
	}
	if wrong := validation.IsDNS1035Label(strings.ToLower(kind)); wrong != nil {
		return fmt.Errorf("%q is no name of a kind, such as Deployment", kind)
	}
	if small := kind == strings.ToLower(kind); small && (strings.HasSuffix(kind, "s") || isKubernetes(group)) {
		return fmt.Errorf("%q looks like the name of a resource; write its kind, such as Deployment", kind)
	}
	return nil
}

// isKubernetes reports whether a group is one of Kubernetes itself.
func isKubernetes(group string) bool {
	return !strings.Contains(group, ".") && group != "*" || strings.HasSuffix(group, ".k8s.io")
}
