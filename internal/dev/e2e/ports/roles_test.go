package ports

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/permissions"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/staged/player"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A requestLog notes what a program asks for.
type requestLog struct {
	http.RoundTripper
	mu   sync.Mutex
	used map[string]bool
}

// RoundTrip sends a request.
func (l *requestLog) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	l.used[permissions.Of(r)] = true
	l.mu.Unlock()
	return l.RoundTripper.RoundTrip(r)
}

// rolesOf reads the roles of files of package staged/player.
func rolesOf(t *testing.T, files ...string) (all []*unstructured.Unstructured) {
	for _, file := range files {
		text, err := os.ReadFile("../../../../staged/player/" + file)
		require.NoError(t, err)
		for _, doc := range strings.Split(string(text), "\n---\n") {
			role := &unstructured.Unstructured{}
			require.NoError(t, yaml.Unmarshal([]byte(doc), &role.Object))
			all = append(all, role)
		}
	}
	return all
}

const approver = "stagecraft-approver"

// granted is what roles grant a Player.
func granted(roles []*unstructured.Unstructured) map[string]bool {
	all := map[string]bool{}
	for _, role := range roles {
		if role.GetName() != approver {
			maps.Copy(all, permissions.Granted(role))
		}
	}
	return all
}

// grant creates roles, and binds them to the Player, or to the user approver.
func (f *fleet) grant(roles []*unstructured.Unstructured) {
	for _, role := range roles {
		_, err := f.hub.Create(f.t.Context(), role, metav1.CreateOptions{})
		require.NoError(f.t, err)
		user := "player"
		if role.GetName() == approver {
			user = "approver"
		}
		f.create(fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: %sBinding, metadata: {name: %s, namespace: %q},
			subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %s}], roleRef: {apiGroup: rbac.authorization.k8s.io, kind: %s, name: %s}}`,
			role.GetKind(), role.GetName(), role.GetNamespace(), user, role.GetKind(), role.GetName()))
	}
}

// approveAs creates a StageApproval as a user.
func (f *fleet) approveAs(user string) error {
	config := rest.CopyConfig(f.config)
	config.Impersonate.UserName = user
	hub, err := kube.NewForConfig(config)
	require.NoError(f.t, err)
	approval := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"policy": "s", "stage": "prod", "gate": "before", "ticket": strings.Repeat("0", 16), "decision": "Approve"}}}
	approval.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.ApprovalKind))
	approval.SetName("by-" + user)
	_, err = hub.Create(f.t.Context(), approval, metav1.CreateOptions{})
	return err
}

// TestRoles plays rollouts over KubeStellar on a server where roles decide. The Player has its roles and no other
// rights, and they grant nothing that it does not ask for.
func TestRoles(t *testing.T) {
	works := manifestWorks.read(t)
	t.Run("K0", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFleetOver(t, apiserver.Options{RBAC: true}, works)
			f.overKubeStellar()
			roles := rolesOf(t, "role.yaml")
			f.grant(roles)
			f.patch(stagedKind, "", "s", "{spec: {updates: AtOnce, deletionPolicy: Orphan}}")
			f.options.WorkStatuses, f.options.Snapshots = f.played, nil
			f.deploy("1")
			f.play(func() {
				f.run(40)
				require.True(t, f.succeeded(), f.message())
				require.Equal(t, versions("1", "1"), f.have)
				f.patch(stagedKind, "", "s", "{spec: {deletionPolicy: Delete}}")
				require.NoError(t, f.hub.Delete(t.Context(), stagedKind, nameOf("s"), metav1.DeleteOptions{}))
				f.have = map[string]string{}
				f.run(20)
				require.Empty(t, f.list(bindingPolicyKind))
			})
			f.compare(roles, "patch control.kubestellar.io/bindingpolicies", "create events.k8s.io/events", "patch events.k8s.io/events")
		})
	})
	t.Run("K1", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFleetOver(t, apiserver.Options{RBAC: true}, works)
			f.overKubeStellar()
			f.create(v1alpha1.ApprovalCRD())
			roles := rolesOf(t, "role.yaml", "role-space.yaml", "role-restore.yaml", "role-approvals.yaml")
			f.grant(roles)
			f.patch(stagedKind, "", "s", "{spec: {revisions: {restore: true, historyLimit: 0}}}")
			f.options.Space, f.options.Workload, f.options.Snapshots = f.played, []player.WorkloadKind{{GroupVersionKind: deploymentKind}}, player.NewStore(f.played)
			f.options.Approvals, f.options.Gates = f.played, []schema.GroupVersionKind{{Group: "batch", Version: "v1", Kind: "Job"}}
			f.deploy("1")
			f.play(func() {
				f.run(40)
				require.True(t, f.succeeded(), f.message())
			})
			f.bad = "prod1@2"
			f.deploy("2")
			f.play(func() { // another Player, which reads the snapshots
				f.run(140)
				require.Equal(t, versions("1", "1"), f.have, "the source was restored: %s", f.message())
				f.deploy("3")
				f.run(60)
				require.Equal(t, versions("3", "3"), f.have, f.message())
				f.deploy("4")
				f.run(60)
				require.True(t, f.succeeded(), f.message())
			})
			require.ErrorContains(t, f.approveAs("editor"), "forbidden")
			require.ErrorContains(t, f.approveAs("player"), "forbidden", "a Player approves nothing by itself")
			require.NoError(t, f.approveAs("approver"))
			// A Secret holds a snapshot with Secrets only; a restored object may have to be created.
			f.compare(roles, "create /secrets", "delete /secrets", "get /secrets", "create apps/deployments",
				"delete control.kubestellar.io/bindingpolicies", "create events.k8s.io/events", "patch events.k8s.io/events")
		})
	})
}

// compare compares what the Player has asked for with roles. Some permissions are for what did not happen.
func (f *fleet) compare(roles []*unstructured.Unstructured, unused ...string) {
	have := granted(roles)
	f.log.mu.Lock()
	defer f.log.mu.Unlock()
	for _, p := range slices.Sorted(maps.Keys(f.log.used)) {
		require.True(f.t, have[p] || strings.HasPrefix(p, "discovery") || strings.HasSuffix(p, " /") || p == "get /apis", "%s is not granted", p)
		delete(have, p)
	}
	require.Subset(f.t, unused, slices.Collect(maps.Keys(have)))
}

// deploy is kubectl apply of a version of the workload.
func (f *fleet) deploy(version string) {
	if len(f.list(deploymentKind)) == 0 {
		f.create(fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, labels: {app: web}}, spec: {selector: {matchLabels: {app: web}},
			template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: %q}]}}}}`, version))
		return
	}
	f.patch(deploymentKind, "shop", "web", fmt.Sprintf(`{spec: {template: {spec: {containers: [{name: c, image: %q}]}}}}`, version))
}

// noteRequests makes the requests of the Player noted.
func (f *fleet) noteRequests() {
	config := rest.CopyConfig(f.config)
	config.Impersonate.UserName = "player"
	f.log = &requestLog{used: map[string]bool{}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		f.log.RoundTripper = next
		return f.log
	})
	var err error
	f.played, err = kube.NewForConfig(config)
	require.NoError(f.t, err)
}
