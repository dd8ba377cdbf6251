package rbac

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

// mostRights is how many single rights a role may have for its check. kube-apiserver has no such limit.
const mostRights = 100_000

// checkGrant refuses rules that a user does not have itself.
func (x *Index) checkGrant(u user.Info, namespace string, rules []rbacv1.PolicyRule) error {
	rights, err := single(rules)
	if err != nil {
		return err
	}
	var own []rbacv1.PolicyRule
	faults := x.granted(u, namespace, func(_ source, r *rbacv1.PolicyRule) bool {
		own = append(own, *r)
		return true
	})
	missing := slices.DeleteFunc(rights, func(right rbacv1.PolicyRule) bool {
		return slices.ContainsFunc(own, func(r rbacv1.PolicyRule) bool { return covers(r, right) })
	})
	if len(missing) == 0 {
		return nil
	}
	text := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s", u.GetName(), u.GetGroups(), describe(missing))
	if faults != nil {
		text += fmt.Sprintf("; resolution errors: %v", []error{faults})
	}
	return errors.New(text)
}

// single returns rules as rights with one verb and one resource or path each.
func single(rules []rbacv1.PolicyRule) (rights []rbacv1.PolicyRule, err error) {
	count := 0
	for _, r := range rules {
		count += len(r.Verbs) * (len(r.APIGroups)*len(r.Resources)*max(1, len(r.ResourceNames)) + len(r.NonResourceURLs))
		if count > mostRights {
			return nil, fmt.Errorf("the role has more than %d rights, which an in-memory cluster does not check: use fewer verbs, resources or names", mostRights)
		}
	}
	for _, r := range rules {
		rights = append(rights, rightsOf(r)...)
	}
	return rights, nil
}

func rightsOf(r rbacv1.PolicyRule) (rights []rbacv1.PolicyRule) {
	names := [][]string{nil}
	if len(r.ResourceNames) > 0 {
		names = nil
		for i := range r.ResourceNames {
			names = append(names, r.ResourceNames[i:i+1])
		}
	}
	for _, group := range r.APIGroups {
		for _, resource := range r.Resources {
			for _, verb := range r.Verbs {
				for _, name := range names {
					rights = append(rights, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}, ResourceNames: name})
				}
			}
		}
	}
	for _, url := range r.NonResourceURLs {
		for _, verb := range r.Verbs {
			rights = append(rights, rbacv1.PolicyRule{NonResourceURLs: []string{url}, Verbs: []string{verb}})
		}
	}
	return rights
}

// covers reports whether a rule includes a single right.
func covers(r, right rbacv1.PolicyRule) bool {
	if !hasOrAll(r.Verbs, right.Verbs[0], rbacv1.VerbAll) {
		return false
	}
	if len(right.NonResourceURLs) > 0 {
		return slices.ContainsFunc(r.NonResourceURLs, func(url string) bool { return coversPath(url, right.NonResourceURLs[0]) })
	}
	if len(r.ResourceNames) > 0 && (len(right.ResourceNames) == 0 || !slices.Contains(r.ResourceNames, right.ResourceNames[0])) {
		return false
	}
	resource, subresource, _ := strings.Cut(right.Resources[0], "/")
	return hasOrAll(r.APIGroups, right.APIGroups[0], rbacv1.APIGroupAll) &&
		slices.ContainsFunc(r.Resources, func(own string) bool { return isResource(own, resource, subresource) })
}

// describe lists rights, one rule in a line: rights that differ in their verb only are one rule.
func describe(rights []rbacv1.PolicyRule) string {
	merged, at := []rbacv1.PolicyRule{}, map[string]int{}
	for _, right := range rights {
		key := right
		key.Verbs = nil
		i, found := at[text(key)]
		if !found || len(right.NonResourceURLs) > 0 {
			at[text(key)] = len(merged)
			merged = append(merged, right)
			continue
		}
		merged[i].Verbs = append(merged[i].Verbs[:len(merged[i].Verbs):len(merged[i].Verbs)], right.Verbs...)
	}
	lines := make([]string, len(merged))
	for i, r := range merged {
		lines[i] = text(r)
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}

// text returns a rule in one line.
func text(r rbacv1.PolicyRule) string {
	var parts []string
	for _, f := range []struct {
		name   string
		values []string
	}{{"APIGroups", r.APIGroups}, {"Resources", r.Resources}, {"NonResourceURLs", r.NonResourceURLs}, {"ResourceNames", r.ResourceNames}, {"Verbs", r.Verbs}} {
		if len(f.values) > 0 {
			parts = append(parts, fmt.Sprintf("%s:%q", f.name, f.values))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
