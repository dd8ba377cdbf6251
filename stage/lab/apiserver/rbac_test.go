package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A ruled cluster has a server with roles.
type ruled struct {
	t      *testing.T
	config *rest.Config
	admin  *kubernetes.Clientset
}

func startRuled(t *testing.T) ruled {
	config := apiserver.Start(t, memory.New(memory.Options{RequireNamespaces: true}), apiserver.Options{RBAC: true})
	return ruled{t, config, kubernetes.NewForConfigOrDie(config)}
}

// as returns a client that acts as a user.
func (r ruled) as(name string, groups ...string) *kubernetes.Clientset {
	config := rest.CopyConfig(r.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: groups}
	return kubernetes.NewForConfigOrDie(config)
}

// bind gives a user a ClusterRole in the namespace default, or everywhere.
func (r ruled) bind(user, role string, everywhere bool) {
	subjects := []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
	meta := metav1.ObjectMeta{Name: user + "-" + role}
	var err error
	if everywhere {
		_, err = r.admin.RbacV1().ClusterRoleBindings().Create(r.t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: ref}, metav1.CreateOptions{})
	} else {
		_, err = r.admin.RbacV1().RoleBindings("default").Create(r.t.Context(), &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: ref}, metav1.CreateOptions{})
	}
	require.NoError(r.t, err)
}

// role creates a ClusterRole.
func (r ruled) role(name string, rules ...rbacv1.PolicyRule) {
	_, err := r.admin.RbacV1().ClusterRoles().Create(r.t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, metav1.CreateOptions{})
	require.NoError(r.t, err)
}

// TestRolesDecide checks what users may do by roles of a new cluster, and the texts of refusals.
func TestRolesDecide(t *testing.T) {
	r := startRuled(t)
	jane := r.as("jane")
	_, err := jane.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err))
	require.EqualError(t, err, `pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"`)
	_, err = jane.CoreV1().Nodes().Get(t.Context(), "a", metav1.GetOptions{})
	require.EqualError(t, err, `nodes "a" is forbidden: User "jane" cannot get resource "nodes" in API group "" at the cluster scope`)
	require.EqualError(t, jane.RESTClient().Get().AbsPath("/metrics").Do(t.Context()).Error(), `forbidden: User "jane" cannot get path "/metrics"`)
	require.NoError(t, jane.RESTClient().Get().AbsPath("/version").Do(t.Context()).Error(), "public information")

	r.bind("jane", "view", false) // its rules are those of other roles
	_, err = jane.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	_, err = jane.CoreV1().Pods("kube-system").List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err))
	_, err = jane.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err))

	r.bind("jane", "missing", true)
	_, err = jane.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{}, metav1.CreateOptions{})
	require.EqualError(t, err, `secrets is forbidden: User "jane" cannot create resource "secrets" in API group "" in the namespace "default": RBAC: clusterrole.rbac.authorization.k8s.io "missing" not found`)
	_, err = r.as("jim", "system:masters").CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
}

// TestAppliesThatCreate checks that an apply which creates needs both verbs.
func TestAppliesThatCreate(t *testing.T) {
	r := startRuled(t)
	r.role("patcher", rbacv1.PolicyRule{Verbs: []string{"patch"}, APIGroups: []string{""}, Resources: []string{"configmaps"}})
	r.bind("jane", "patcher", true)
	apply := func() error {
		_, err := r.as("jane").CoreV1().ConfigMaps("default").Patch(t.Context(), "a", types.ApplyPatchType, []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`), metav1.PatchOptions{FieldManager: "x"})
		return err
	}
	require.EqualError(t, apply(), `configmaps "a" is forbidden: User "jane" cannot create resource "configmaps" in API group "" in the namespace "default"`)
	_, err := r.admin.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, apply())
}

// TestEscalation checks that users grant only what they have.
func TestEscalation(t *testing.T) {
	r := startRuled(t)
	r.bind("jane", "admin", false)
	jane := r.as("jane").RbacV1()
	role := func(rules ...rbacv1.PolicyRule) *rbacv1.Role {
		return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "made"}, Rules: rules}
	}
	pods := rbacv1.PolicyRule{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"pods"}}
	made, err := jane.Roles("default").Create(t.Context(), role(pods), metav1.CreateOptions{})
	require.NoError(t, err)
	made.Rules = append(made.Rules, rbacv1.PolicyRule{Verbs: []string{"get", "list"}, APIGroups: []string{"x.io"}, Resources: []string{"things", "others"}})
	_, err = jane.Roles("default").Update(t.Context(), made, metav1.UpdateOptions{})
	require.EqualError(t, err, `roles.rbac.authorization.k8s.io "made" is forbidden: user "jane" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:
{APIGroups:["x.io"], Resources:["others"], Verbs:["get" "list"]}
{APIGroups:["x.io"], Resources:["things"], Verbs:["get" "list"]}`)
	made.Rules, made.Finalizers = made.Rules[:1], []string{"x.io/keep"}
	_, err = jane.Roles("default").Update(t.Context(), made, metav1.UpdateOptions{})
	require.NoError(t, err)

	to := func(kind, name string) *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "to-" + name}, Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "jim"}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}}
	}
	_, err = jane.RoleBindings("default").Create(t.Context(), to("Role", "made"), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = jane.RoleBindings("default").Create(t.Context(), to("ClusterRole", "cluster-admin"), metav1.CreateOptions{})
	require.ErrorContains(t, err, "is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}\n{NonResourceURLs:[\"*\"], Verbs:[\"*\"]}")
	_, err = jane.RoleBindings("default").Create(t.Context(), to("ClusterRole", "missing"), metav1.CreateOptions{})
	require.EqualError(t, err, `rolebindings.rbac.authorization.k8s.io "missing" not found`)

	r.role("binder", rbacv1.PolicyRule{Verbs: []string{"bind"}, APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}, ResourceNames: []string{"cluster-admin"}})
	r.bind("jane", "binder", false)
	_, err = jane.RoleBindings("default").Create(t.Context(), to("ClusterRole", "cluster-admin"), metav1.CreateOptions{})
	require.NoError(t, err)
}

// TestAggregatedRoles checks that roles follow those that they select, and that only an administrator
// selects.
func TestAggregatedRoles(t *testing.T) {
	r := startRuled(t)
	selecting := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "all-x"}, AggregationRule: &rbacv1.AggregationRule{
		ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"x": "y"}}}}}
	r.role("roles", rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}, ResourceNames: []string{"some"}},
		rbacv1.PolicyRule{Verbs: []string{"create"}, APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}})
	r.bind("jane", "roles", true)
	_, err := r.as("jane").RbacV1().ClusterRoles().Create(t.Context(), selecting, metav1.CreateOptions{})
	require.EqualError(t, err, `clusterroles.rbac.authorization.k8s.io "all-x" is forbidden: must have cluster-admin privileges to use the aggregationRule`)
	_, err = r.admin.RbacV1().ClusterRoles().Create(t.Context(), selecting, metav1.CreateOptions{})
	require.NoError(t, err)
	rule := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"x.io"}, Resources: []string{"things"}}
	_, err = r.admin.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "x", Labels: map[string]string{"x": "y"}}, Rules: []rbacv1.PolicyRule{rule}}, metav1.CreateOptions{})
	require.NoError(t, err)
	found, err := r.admin.RbacV1().ClusterRoles().Get(t.Context(), "all-x", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, []rbacv1.PolicyRule{rule}, found.Rules)
}

// TestReviewsOfAccess checks what reviews answer, and which ones are not valid.
func TestReviewsOfAccess(t *testing.T) {
	r := startRuled(t)
	r.bind("jane", "view", false)
	get := &authorizationv1.ResourceAttributes{Namespace: "default", Verb: "get", Resource: "pods"}
	own, err := r.as("jane").AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: get}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: `RBAC: allowed by RoleBinding "jane-view/default" of ClusterRole "view" to User "jane"`}, own.Status)
	access := r.admin.AuthorizationV1().SubjectAccessReviews()
	other, err := access.Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "jim", ResourceAttributes: get}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, authorizationv1.SubjectAccessReviewStatus{}, other.Status)
	_, err = access.Create(t.Context(), &authorizationv1.SubjectAccessReview{}, metav1.CreateOptions{})
	require.ErrorContains(t, err, "exactly one of nonResourceAttributes or resourceAttributes must be specified")
	require.ErrorContains(t, err, "at least one of user or group must be specified")
	_, err = r.admin.AuthorizationV1().LocalSubjectAccessReviews("kube-system").Create(t.Context(), &authorizationv1.LocalSubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: "jim", ResourceAttributes: get}}, metav1.CreateOptions{})
	require.ErrorContains(t, err, "must match metadata.namespace")

	rules, err := r.as("jane").AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Contains(t, rules.Status.ResourceRules, authorizationv1.ResourceRule{Verbs: []string{"create"}, APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews"}})
	require.Greater(t, len(rules.Status.ResourceRules), 10, "those of view")
	require.NotEmpty(t, rules.Status.NonResourceRules)
	_, err = r.as("jane").AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), &authorizationv1.SelfSubjectRulesReview{}, metav1.CreateOptions{})
	require.ErrorContains(t, err, "no namespace on request")
}

// TestImpersonation checks who may act as whom.
func TestImpersonation(t *testing.T) {
	r := startRuled(t)
	listener, err := apiserver.Listen(memory.New(memory.Options{}), apiserver.ListenOptions{Options: apiserver.Options{RBAC: true}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	r.config, r.admin = listener.Config(), kubernetes.NewForConfigOrDie(listener.Config())
	config, err := listener.User("jane", "team")
	require.NoError(t, err)
	who := func(as rest.ImpersonationConfig) (authenticationv1.UserInfo, error) {
		c := rest.CopyConfig(config)
		c.Impersonate = as
		review, err := kubernetes.NewForConfigOrDie(c).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil {
			return authenticationv1.UserInfo{}, err
		}
		return review.Status.UserInfo, nil
	}
	me, err := who(rest.ImpersonationConfig{})
	require.NoError(t, err)
	require.Equal(t, []string{"team", "system:authenticated"}, me.Groups)
	_, err = who(rest.ImpersonationConfig{UserName: "jim"})
	require.EqualError(t, err, `selfsubjectreviews.authentication.k8s.io is forbidden: User "jane" cannot impersonate-on:user-info:create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope`)
	r.role("actor", rbacv1.PolicyRule{Verbs: []string{"impersonate"}, APIGroups: []string{""}, Resources: []string{"users"}, ResourceNames: []string{"jim"}})
	r.bind("jane", "actor", true)
	jim, err := who(rest.ImpersonationConfig{UserName: "jim"})
	require.NoError(t, err)
	require.Equal(t, "jim", jim.Username)
	_, err = who(rest.ImpersonationConfig{UserName: "jim", Groups: []string{"system:masters"}})
	require.True(t, apierrors.IsForbidden(err))

	r.role("old", rbacv1.PolicyRule{Verbs: []string{"impersonate"}, APIGroups: []string{""}, Resources: []string{"users"}, ResourceNames: []string{"system:node:a"}})
	r.bind("jane", "old", true)
	node, err := who(rest.ImpersonationConfig{UserName: "system:node:a"})
	require.NoError(t, err)
	require.Equal(t, []string{"system:authenticated"}, node.Groups, "the old verb gives a Node no group")
	r.role("new", rbacv1.PolicyRule{Verbs: []string{"impersonate-on:arbitrary-node:create"}, APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"selfsubjectreviews"}},
		rbacv1.PolicyRule{Verbs: []string{"impersonate:arbitrary-node"}, APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"nodes"}})
	r.bind("jane", "new", true)
	node, err = who(rest.ImpersonationConfig{UserName: "system:node:a"})
	require.NoError(t, err)
	require.Equal(t, []string{"system:nodes", "system:authenticated"}, node.Groups)
}

// TestConnectionsNeedTheRightToCreate: a WebSocket begins with a GET, and the right to get is not enough, as
// since Kubernetes 1.35.
func TestConnectionsNeedTheRightToCreate(t *testing.T) {
	r := startRuled(t)
	r.role("getter", rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods/exec", "pods/log"}})
	r.bind("jane", "getter", true)
	client := r.as("jane").CoreV1().RESTClient()
	err := client.Get().AbsPath("/api/v1/namespaces/default/pods/p/exec").Param("command", "x").Do(t.Context()).Error()
	require.EqualError(t, err, `pods "p" is forbidden: `, "kube-apiserver's own words: see internal/dev/e2e/testdata/roles.yaml")
	require.True(t, apierrors.IsNotFound(client.Get().AbsPath("/api/v1/namespaces/default/pods/p/log").Do(t.Context()).Error()))
}

// TestSignersOfCertificates checks that approvers and signers need the right for the signer of a request.
func TestSignersOfCertificates(t *testing.T) {
	r := startRuled(t)
	requests := []string{"certificatesigningrequests/approval", "certificatesigningrequests/status"}
	r.role("writer", rbacv1.PolicyRule{Verbs: []string{"update"}, APIGroups: []string{"certificates.k8s.io"}, Resources: requests})
	r.role("approver", rbacv1.PolicyRule{Verbs: []string{"approve"}, APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"signers"}, ResourceNames: []string{"example.com/*"}})
	r.role("signer", rbacv1.PolicyRule{Verbs: []string{"sign"}, APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"signers"}, ResourceNames: []string{"example.com/a"}})
	for _, user := range []string{"none", "both"} {
		r.bind(user, "writer", true)
	}
	r.bind("both", "approver", true)
	r.bind("both", "signer", true)
	csr, err := r.admin.CertificatesV1().CertificateSigningRequests().Create(t.Context(), &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Spec: certificatesv1.CertificateSigningRequestSpec{Request: certificateRequest(t), SignerName: "example.com/a", Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"}}
	_, err = r.as("none").CertificatesV1().CertificateSigningRequests().UpdateApproval(t.Context(), "a", csr, metav1.UpdateOptions{})
	require.ErrorContains(t, err, `certificatesigningrequests.certificates.k8s.io "a" is forbidden: user not permitted to approve requests with signerName "example.com/a"`)
	csr, err = r.as("both").CertificatesV1().CertificateSigningRequests().UpdateApproval(t.Context(), "a", csr, metav1.UpdateOptions{})
	require.NoError(t, err)
	_, err = r.as("none").CertificatesV1().CertificateSigningRequests().UpdateStatus(t.Context(), csr, metav1.UpdateOptions{})
	require.NoError(t, err, "nothing is signed")
	csr.Status.Certificate = []byte("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n")
	_, err = r.as("none").CertificatesV1().CertificateSigningRequests().UpdateStatus(t.Context(), csr, metav1.UpdateOptions{})
	require.ErrorContains(t, err, `user not permitted to sign requests with signerName "example.com/a"`)
	_, err = r.as("both").CertificatesV1().CertificateSigningRequests().UpdateStatus(t.Context(), csr, metav1.UpdateOptions{})
	require.False(t, apierrors.IsForbidden(err), "%v", err)
}
