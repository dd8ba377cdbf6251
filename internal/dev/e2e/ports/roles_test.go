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

// granted is what the roles of files of package staged/player grant.
func granted(t *testing.T, files ...string) map[string]bool {
	all := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile("../../../../staged/player/" + file)
		require.NoError(t, err)
		for _, doc := range strings.Split(string(text), "\n---\n") {
			role := &unstructured.Unstructured{}
			require.NoError(t, yaml.Unmarshal([]byte(doc), &role.Object))
			if role.GetName() != "stagecraft-approver" {
				maps.Copy(all, permissions.Granted(role))
			}
		}
	}
	return all
}

// TestRoles plays rollouts over KubeStellar and compares the requests of the Player with its roles: it
// asks for nothing that they do not grant, and they grant nothing that it does not ask for.
func TestRoles(t *testing.T) {
	works := manifestWorks.read(t)
	t.Run("K0", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, works)
			f.overKubeStellar()
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
			f.compare([]string{"role.yaml"}, "patch control.kubestellar.io/bindingpolicies", "create events.k8s.io/events", "patch events.k8s.io/events")
		})
	})
	t.Run("K1", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, works)
			f.overKubeStellar()
			f.create(v1alpha1.ApprovalCRD())
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
			// A Secret holds a snapshot with Secrets only; a restored object may have to be created.
			f.compare([]string{"role.yaml", "role-space.yaml", "role-restore.yaml", "role-approvals.yaml"}, "create /secrets", "delete /secrets", "get /secrets", "create apps/deployments",
				"delete control.kubestellar.io/bindingpolicies", "create events.k8s.io/events", "patch events.k8s.io/events")
		})
	})
}

// compare compares what the Player has asked for with roles. Some permissions are for what did not happen.
func (f *fleet) compare(roles []string, unused ...string) {
	have := granted(f.t, roles...)
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
func (f *fleet) noteRequests(config *rest.Config) {
	config = rest.CopyConfig(config)
	f.log = &requestLog{used: map[string]bool{}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		f.log.RoundTripper = next
		return f.log
	})
	var err error
	f.played, err = kube.NewForConfig(config)
	require.NoError(f.t, err)
}
