package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/permissions"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/kube/nodes"
	"github.com/stagecraft-go/stagecraft/stage/kube/shard"
	"github.com/stagecraft-go/stagecraft/stage/kube/stages"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/staged/control"
	stagedplayer "github.com/stagecraft-go/stagecraft/staged/player"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A serviceAccount is a user with the roles of some files, and its requests to the server.
type serviceAccount struct {
	name    string
	config  *rest.Config
	granted map[string]bool // "verb group/resource", of the roles

	mu        sync.Mutex
	used      map[string]bool
	forbidden []string
}

// newServiceAccount creates a ServiceAccount and binds the roles of the files to it.
func newServiceAccount(t *testing.T, name string, files ...string) *serviceAccount {
	t.Helper()
	admin := newCluster(t)
	s := &serviceAccount{name: name, granted: map[string]bool{}, used: map[string]bool{}}
	create(t, admin, "{apiVersion: v1, kind: ServiceAccount, metadata: {namespace: default, name: "+name+"}}")
	for _, file := range files {
		text, err := os.ReadFile("../../../" + file)
		require.NoError(t, err)
		for _, role := range decode(t, string(text)) {
			s.bind(t, admin, role)
		}
	}
	client, err := kubernetes.NewForConfig(plane.Config())
	require.NoError(t, err)
	token, err := client.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	s.config = rest.AnonymousClientConfig(plane.Config())
	s.config.BearerToken, s.config.QPS = token.Status.Token, -1
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("forbidden: ", s.forbidden)
		}
	})
	s.config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &requestLog{next, s} })
	return s
}

// bind creates a role, if it does not exist, and its binding.
func (s *serviceAccount) bind(t *testing.T, admin *kube.Cluster, role *unstructured.Unstructured) {
	t.Helper()
	maps.Copy(s.granted, permissions.Granted(role))
	_, err := admin.Create(t.Context(), role.DeepCopy(), metav1.CreateOptions{})
	require.True(t, err == nil || apierrors.IsAlreadyExists(err), "%v", err)
	create(t, admin, fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: %sBinding, metadata: {name: %s-%s, namespace: %q},
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: %s, name: %s}, subjects: [{kind: ServiceAccount, namespace: default, name: %s}]}`,
		role.GetKind(), role.GetName(), s.name, role.GetNamespace(), role.GetKind(), role.GetName(), s.name))
}

func (s *serviceAccount) cluster(t *testing.T) *kube.Cluster {
	t.Helper()
	c, err := kube.NewForConfig(s.config)
	require.NoError(t, err)
	return c
}

// unused are the permissions that were granted and not used.
func (s *serviceAccount) unused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.granted)), func(p string) bool { return s.used[p] })
}

// A requestLog notes the requests of a service account.
type requestLog struct {
	http.RoundTripper
	of *serviceAccount
}

// RoundTrip sends a request.
func (l *requestLog) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.RoundTripper.RoundTrip(r)
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	permission := permissions.Of(r)
	if r.Header.Get("Impersonate-User") == "" {
		l.of.used[permission] = true
	}
	if err == nil && answer.StatusCode == http.StatusForbidden {
		l.of.forbidden = append(l.of.forbidden, permission)
	}
	return answer, err
}

// TestLeastRoles runs each package with the role of its manifest, and nothing else. Everything that
// a role grants is used, with three exceptions. The player uses get only after a conflict. The
// server checks create for the objects that the player applies, without such a request. Some verbs
// are only for repeated requests.
func TestLeastRoles(t *testing.T) {
	admin := newCluster(t)
	create(t, admin, "{apiVersion: v1, kind: Namespace, metadata: {name: roles}}")
	t.Run("player", func(t *testing.T) {
		s := newServiceAccount(t, "player", "stage/kube/roles/player.yaml")
		startPlaying(t, s.cluster(t), player.Options{}, presets.NodeFast(), presets.PodGeneral(), presets.Volumes())
		playEverything(t, admin)
		require.Empty(t, s.forbidden)
		require.Subset(t, []string{"get /nodes", "get /pods", "get /persistentvolumes", "get /persistentvolumeclaims", "create /persistentvolumes", "patch events.k8s.io/events"}, s.unused())
	})
	t.Run("nodes and shards", func(t *testing.T) {
		s := newServiceAccount(t, "members", "stage/kube/roles/player.yaml", "stage/kube/roles/nodes.yaml", "stage/kube/roles/shard.yaml")
		shareAsOne(t, s.cluster(t), admin)
		require.Empty(t, s.forbidden)
		require.NotContains(t, s.unused(), "update coordination.k8s.io/leases")
	})
	t.Run("staged", func(t *testing.T) {
		defineKubeStellar(t, admin)
		g := newKubeStellar(t, admin, "least")
		s := newServiceAccount(t, "staged", "staged/player/role.yaml")
		hub := s.cluster(t)
		g.patch("least", `{"spec": {"deletionPolicy": "Orphan"}}`) // which takes a finalizer
		stop := background(t, func(ctx context.Context) error {
			return stagedplayer.Play(ctx, hub, stagedplayer.Options{
				Clusters: func() map[string]map[string]string { return g.clusters }, WorkStatuses: hub, Events: hub,
			})
		})
		g.waitPhase("least", "test", v1alpha1.Soaking, "approval")
		g.waitSinglePolicy("least", "least.stage.test")
		stop()
		require.Empty(t, s.forbidden)
		require.Subset(t, []string{"patch control.kubestellar.io/bindingpolicies", "patch events.k8s.io/events"}, s.unused())
	})
	t.Run("staged with a space", func(t *testing.T) {
		defineKubeStellar(t, admin)
		define(t, admin, definitionOf("StatusCollector", "statuscollectors", "Cluster"))
		define(t, admin, strings.ReplaceAll(strings.ReplaceAll(definitionOf("ManifestWork", "manifestworks", "Namespaced"), control.Group, "work.open-cluster-management.io"), control.Version, "v1"))
		create(t, admin, "{apiVersion: v1, kind: Namespace, metadata: {name: "+stagedplayer.SnapshotNamespace+"}}")
		s := newServiceAccount(t, "space", "staged/player/role.yaml", "staged/player/role-space.yaml")
		playRevisions(t, s.cluster(t), newKubeStellar(t, admin, "spacious"))
		require.Empty(t, s.forbidden)
		require.Subset(t, []string{
			"patch control.kubestellar.io/bindingpolicies", "patch events.k8s.io/events", "delete control.kubestellar.io/bindingpolicies", "update control.kubestellar.io/bindingpolicies",
			"get /secrets", "list /secrets", "create /secrets", "delete /secrets", // only for workloads with a Secret
		}, s.unused())
	})
}

// replicas changes the Deployment of a policy.
func (g *kubeStellar) replicas(policy string, n int) {
	old := g.workload[policy]
	changed, err := g.hub.Patch(g.t.Context(), old.GroupVersionKind(), types.NamespacedName{Namespace: policy, Name: old.GetName()}, types.MergePatchType,
		fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, n), metav1.PatchOptions{})
	require.NoError(g.t, err)
	g.workload[policy] = changed
}

var revisionKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ControllerRevision"}

// playRevisions has a player cut three revisions of a Deployment and store their snapshots. A second player reads them.
func playRevisions(t *testing.T, hub *kube.Cluster, g *kubeStellar) {
	start := func() func() {
		return background(t, func(ctx context.Context) error {
			return stagedplayer.Play(ctx, hub, stagedplayer.Options{
				Clusters: func() map[string]map[string]string { return g.clusters }, Events: hub, Space: hub, Snapshots: stagedplayer.NewStore(hub),
				Workload: []stagedplayer.WorkloadKind{{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}}},
			})
		})
	}
	wanted := func(before string) (now string) {
		eventually(t, "another revision is wanted", func() bool {
			g.step()
			now = g.rollout("spacious").Wanted
			return now != "" && now != before
		})
		return now
	}
	g.patch("spacious", `{"spec": {"updates": "Staged", "deletionPolicy": "Orphan"}}`)
	stop := start()
	first := wanted("")
	create(t, g.hub, "{apiVersion: apps/v1, kind: ControllerRevision, revision: 1, data: {}, metadata: {name: spacious-old-0,\n"+
		"namespace: "+stagedplayer.SnapshotNamespace+", labels: {"+v1alpha1.Group+"/policy: spacious}}}")
	g.replicas("spacious", 3)
	second := wanted(first)
	stop()
	stop = start()
	g.replicas("spacious", 4)
	wanted(second)
	eventually(t, "the snapshot that nobody names is gone", func() bool {
		g.step()
		_, err := g.hub.Get(t.Context(), revisionKind, types.NamespacedName{Namespace: stagedplayer.SnapshotNamespace, Name: "spacious-old-0"})
		return apierrors.IsNotFound(err)
	})
	stop()
}

// playEverything has a Pod and a claim go through their lives.
func playEverything(t *testing.T, admin *kube.Cluster) {
	create(t, admin, "{apiVersion: v1, kind: Node, metadata: {name: role-node}}")
	create(t, admin, "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: roles}, spec: {nodeName: role-node, containers: [{name: c, image: i}]}}")
	claim := create(t, admin, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: roles,
  finalizers: [example.com/hold]}, spec: {storageClassName: kwok-volume, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`)
	name := types.NamespacedName{Namespace: "roles", Name: "a"}
	volume := types.NamespacedName{Name: "pvc-" + string(claim.GetUID())}
	eventually(t, "the Pod runs", func() bool { return phase(t, admin, "roles", "a") == "Running" })
	eventually(t, "the volume is bound", func() bool {
		obj, err := admin.Get(t.Context(), claim.GroupVersionKind().GroupVersion().WithKind("PersistentVolume"), volume)
		phase := ""
		if err == nil {
			phase, _, _ = unstructured.NestedString(obj.Object, "status", "phase")
		}
		return phase == "Bound"
	})
	require.NoError(t, admin.Delete(t.Context(), podKind, name, metav1.DeleteOptions{}))
	require.NoError(t, admin.Delete(t.Context(), claim.GroupVersionKind(), name, metav1.DeleteOptions{}))
	eventually(t, "the Pod is gone", func() bool {
		_, err := admin.Get(t.Context(), podKind, name)
		return apierrors.IsNotFound(err)
	})
	eventually(t, "the volume is going", func() bool {
		obj, err := admin.Get(t.Context(), claim.GroupVersionKind().GroupVersion().WithKind("PersistentVolume"), volume)
		return apierrors.IsNotFound(err) || err == nil && obj.GetDeletionTimestamp() != nil
	})
	_, err := admin.Patch(t.Context(), claim.GroupVersionKind(), name, types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{})
	require.True(t, err == nil || apierrors.IsNotFound(err), "%v", err)
}

// shareAsOne plays a Node with a Lease, as the only member of a group.
func shareAsOne(t *testing.T, cluster, admin *kube.Cluster) {
	member, err := shard.New(cluster, shard.Options{Group: "roles", Identity: "one", Duration: 3 * time.Second})
	require.NoError(t, err)
	holder, err := nodes.New(cluster, nodes.Options{
		Policy: nodes.Policy{Labels: "roles=yes"}, Owns: member.Owns, Lease: nodes.Lease{Identity: "roles", Duration: 4 * time.Second},
	})
	require.NoError(t, err)
	set, err := stage.Compile(stage.Options{}, presets.NodeFast(), presets.NodeHeartbeatWithLease(), presets.PodFast())
	require.NoError(t, err)
	p := player.New(set, cluster, player.Options{Filter: holder.Plays, Select: holder.Rules().Select()})
	stop := background(t, p.Run,
		func(ctx context.Context) error { return holder.Run(ctx, p.Refilter) },
		func(ctx context.Context) error {
			return member.Run(ctx, func() { holder.Refilter(); p.Refilter() })
		})
	create(t, admin, "{apiVersion: v1, kind: Node, metadata: {name: shared-node, labels: {roles: 'yes'}}}")
	renewed := map[any]bool{}
	eventually(t, "the Lease is renewed", func() bool {
		if l := leaseOf(t, admin, "shared-node"); l != nil {
			at, _, _ := unstructured.NestedString(l.Object, "spec", "renewTime")
			renewed[at] = true
		}
		return len(renewed) > 2
	})
	stop()
}

// TestStagesOfTheClusterDoWhatIsAllowed has a Stage that would make its author an administrator,
// and a Stage that acts as another user, which is allowed. Both go over the wire, with the least
// roles.
func TestStagesOfTheClusterDoWhatIsAllowed(t *testing.T) {
	admin := newCluster(t)
	install(t, admin)
	create(t, admin, "{apiVersion: v1, kind: Namespace, metadata: {name: allowed}}")
	s := newServiceAccount(t, "follower", "stage/kube/roles/stages.yaml")
	for _, role := range decode(t, `
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: follower-reads}, rules: [
  {apiGroups: [''], resources: [configmaps], verbs: [get, list, watch]},
  {apiGroups: [''], resources: [users], resourceNames: [robot], verbs: [impersonate]}]}`) {
		s.bind(t, admin, role)
	}
	create(t, admin, `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: robot, namespace: allowed},
  rules: [{apiGroups: [''], resources: [configmaps], verbs: [patch]}]}`)
	create(t, admin, `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: robot,
  namespace: allowed}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: robot},
		subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: robot}]}`)
	create(t, admin, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: allowed}}")
	background(t, func(ctx context.Context) error {
		return stages.Play(ctx, s.cluster(t), player.Options{Namespace: "allowed"}, stages.Options{Compile: stage.Options{Allow: &stage.Allow{Users: []string{"robot"}}}})
	})
	const start = `{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: %s},
  spec: {resourceRef: {kind: ConfigMap}, selector: {matchExpressions: [{key: .data.by, operator: DoesNotExist}]}, steps: [%s]}}`
	create(t, admin, fmt.Sprintf(start, "takeover", `{apply: {impersonation: {username: "system:admin"},
  template: "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: takeover},
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}"}}`))
	eventually(t, "the Stage is refused", func() bool {
		return accepted(t, admin, "takeover") == "False @1 spec.steps[0].apply: apply, which writes other objects: not allowed here; "+
			`spec.steps[0].apply.impersonation.username: impersonation of "system:admin": not allowed here; no version is in use`
	})
	create(t, admin, fmt.Sprintf(start, "sign", `{patch: {impersonation: {username: robot}, template: "{data: {by: robot}}"}}`))
	eventually(t, "the user that is allowed signs", func() bool {
		obj, err := admin.Get(t.Context(), configMapKind, types.NamespacedName{Namespace: "allowed", Name: "a"})
		require.NoError(t, err)
		by, _, _ := unstructured.NestedString(obj.Object, "data", "by")
		return by == "robot"
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Empty(t, s.forbidden)
}
