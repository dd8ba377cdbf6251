package rbac_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/rbac"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

const roles = `
- {kind: ClusterRole, metadata: {name: reader}, rules: [{verbs: [get, list], apiGroups: [""], resources: [pods, pods/log, "*/scale"]}]}
- {kind: ClusterRole, metadata: {name: named}, rules: [{verbs: ["*"], apiGroups: [apps], resources: ["*"], resourceNames: [web]}]}
- {kind: ClusterRole, metadata: {name: paths}, rules: [{verbs: [get], nonResourceURLs: [/metrics, /logs/*]}]}
- {kind: Role, metadata: {name: local, namespace: a}, rules: [{verbs: [get], apiGroups: ["*"], resources: [secrets]}]}
- kind: ClusterRoleBinding
  metadata: {name: readers}
  subjects: [{kind: Group, name: readers}, {kind: ServiceAccount, name: bot, namespace: a}]
  roleRef: {kind: ClusterRole, name: reader}
- {kind: ClusterRoleBinding, metadata: {name: paths}, subjects: [{kind: User, name: jane}], roleRef: {kind: ClusterRole, name: paths}}
- {kind: RoleBinding, metadata: {name: named, namespace: a}, subjects: [{kind: User, name: jane}], roleRef: {kind: ClusterRole, name: named}}
- {kind: RoleBinding, metadata: {name: local, namespace: a}, subjects: [{kind: ServiceAccount, name: bot}], roleRef: {kind: Role, name: local}}
- {kind: RoleBinding, metadata: {name: missing, namespace: b}, subjects: [{kind: User, name: jane}], roleRef: {kind: Role, name: gone}}
- {kind: RoleBinding, metadata: {name: other, namespace: b}, subjects: [{kind: User, name: jane}], roleRef: {kind: ClusterRole, name: gone}}
`

func newIndex(t *testing.T) (*rbac.Index, *memory.Cluster) {
	c := memory.New(memory.Options{})
	var all []map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(roles), &all))
	for _, fields := range all {
		fields["apiVersion"] = "rbac.authorization.k8s.io/v1"
		_, err := c.Create(t.Context(), &unstructured.Unstructured{Object: fields}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	x, err := rbac.NewIndex(c)
	require.NoError(t, err)
	c.Extend(x.Hooks())
	return x, c
}

// ask returns the decision about a request in words: USER VERB RESOURCE[/SUBRESOURCE][.GROUP] NAMESPACE [NAME], or
// USER VERB /PATH.
func ask(t *testing.T, x *rbac.Index, text string) string {
	words := strings.Fields(text)
	u := &user.DefaultInfo{Name: words[0]}
	if name, group, found := strings.Cut(words[0], "@"); found {
		u = &user.DefaultInfo{Name: name, Groups: []string{group}}
	}
	a := authorizer.AttributesRecord{User: u, Verb: words[1], Path: words[2], ResourceRequest: words[2][0] != '/'}
	if a.ResourceRequest {
		resource, group, _ := strings.Cut(words[2], ".")
		a.APIGroup = group
		a.Resource, a.Subresource, _ = strings.Cut(resource, "/")
		if words[3] != "-" {
			a.Namespace = words[3]
		}
		if len(words) > 4 {
			a.Name = words[4]
		}
	}
	decision, reason, err := x.Authorize(t.Context(), a)
	require.NoError(t, err)
	if reason == "" {
		reason = "-"
	}
	return fmt.Sprintf("%v %s", decision == authorizer.DecisionAllow, reason)
}

func TestAuthorize(t *testing.T) {
	x, _ := newIndex(t)
	const bot = "system:serviceaccount:a:bot"
	for text, want := range map[string]string{
		"jim@readers get pods b p":            `true RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to Group "readers"`,
		"jim@readers get pods/log b p":        `true RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to Group "readers"`,
		"jim@readers get pods/exec b p":       "false -",
		"jim@readers get things/scale b p":    `true RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to Group "readers"`,
		"jim@readers get things/scale.x b p":  "false -",
		"jim@readers delete pods b p":         "false -",
		"jim@system:masters delete pods b p":  "true -",
		bot + " list pods -":                  `true RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to ServiceAccount "bot/a"`,
		bot + " get secrets.x a s":            `true RBAC: allowed by RoleBinding "local/a" of Role "local" to ServiceAccount "bot/a"`,
		bot + " get secrets a s":              `true RBAC: allowed by RoleBinding "local/a" of Role "local" to ServiceAccount "bot/a"`,
		bot + " get secrets b s":              "false -",
		"jane delete deployments.apps a web":  `true RBAC: allowed by RoleBinding "named/a" of ClusterRole "named" to User "jane"`,
		"jane delete deployments.apps a test": "false -",
		"jane list deployments.apps a":        "false -",
		"jane get /metrics":                   `true RBAC: allowed by ClusterRoleBinding "paths" of ClusterRole "paths" to User "jane"`,
		"jane get /logs/a":                    `true RBAC: allowed by ClusterRoleBinding "paths" of ClusterRole "paths" to User "jane"`,
		"jane get /logs":                      "false -",
		"nobody get /readyz":                  "true -",
		"jane get pods b":                     `false RBAC: [role.rbac.authorization.k8s.io "gone" not found, clusterrole.rbac.authorization.k8s.io "gone" not found]`,
	} {
		require.Equal(t, want, ask(t, x, text), text)
	}
}

// TestTheIndexFollows checks that roles and bindings count when they change, and no longer when they are gone.
func TestTheIndexFollows(t *testing.T) {
	x, c := newIndex(t)
	require.Contains(t, ask(t, x, "jim@readers get pods b p"), "true")
	role := rbacv1.SchemeGroupVersion.WithKind("ClusterRole")
	_, err := c.Patch(t.Context(), role, types.NamespacedName{Name: "reader"}, types.MergePatchType, []byte(`{"rules":[{"verbs":["watch"],"apiGroups":[""],"resources":["pods"]}]}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Contains(t, ask(t, x, "jim@readers get pods b p"), "false")
	require.Contains(t, ask(t, x, "jim@readers watch pods b p"), "true")
	require.NoError(t, c.Delete(t.Context(), rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"), types.NamespacedName{Name: "readers"}, metav1.DeleteOptions{}))
	require.Contains(t, ask(t, x, "jim@readers watch pods b p"), "false")
}

// TestHugeRolesAreRefused checks that a role cannot cost more than it has lines.
func TestHugeRolesAreRefused(t *testing.T) {
	_, c := newIndex(t)
	many := make([]any, 1000)
	for i := range many {
		many[i] = fmt.Sprint("x", i)
	}
	role := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": "huge"},
		"rules": []any{map[string]any{"verbs": many, "apiGroups": many, "resources": many}}}}
	_, err := c.Create(request.WithUser(t.Context(), &user.DefaultInfo{Name: "jane"}), role, metav1.CreateOptions{})
	require.ErrorContains(t, err, "the role has more than 100000 rights, which an in-memory cluster does not check: use fewer verbs, resources or names")
	_, err = c.Create(t.Context(), role, metav1.CreateOptions{})
	require.NoError(t, err, "controllers have no user")
}

// TestBootstrap checks that a new cluster has the roles of Kubernetes, once.
func TestBootstrap(t *testing.T) {
	c := memory.New(memory.Options{})
	for range 2 {
		require.NoError(t, rbac.Bootstrap(t.Context(), c))
	}
	for kind, want := range map[string]int{"ClusterRole": 69, "ClusterRoleBinding": 50, "Role": 7, "RoleBinding": 7} {
		found, err := c.List(t.Context(), rbacv1.SchemeGroupVersion.WithKind(kind), "", metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, found.Items, want, kind)
	}
}
