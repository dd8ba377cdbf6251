package policies

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	"k8s.io/kubernetes/pkg/quota/v1/install"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/quota"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// quotas are quotas of everything that can be counted, in all scopes.
func quotas() *family {
	return &family{
		name: "quotas", kinds: []schema.GroupVersionKind{quotaKind, podKind, claimKind, serviceKind}, length: time.Minute,
		theirs: theirQuotas,
		ours:   func() []reconcile.Controller { return []reconcile.Controller{quota.ResourceQuotas()} },
		random: randomQuotas,
	}
}

func theirQuotas(w world, cs kubernetes.Interface, f informers.SharedInformerFactory) ([]func(), error) {
	configuration, err := install.NewQuotaConfigurationForControllers(generic.ListerFuncForResourceFunc(f.ForResource), f)
	if err != nil {
		return nil, err
	}
	started := make(chan struct{})
	close(started)
	c, err := resourcequota.NewController(w.ctx, &resourcequota.ControllerOptions{
		QuotaClient: cs.CoreV1(), ResourceQuotaInformer: f.Core().V1().ResourceQuotas(), InformerFactory: f, InformersStarted: started,
		ResyncPeriod: fiveMinutes, ReplenishmentResyncPeriod: func() time.Duration { return 12 * time.Hour },
		DiscoveryFunc: countable, IgnoredResourcesFunc: configuration.IgnoredResources,
		Registry: generic.NewRegistry(configuration.Evaluators()), UpdateFilter: install.DefaultUpdateFilter(),
	})
	if err != nil {
		return nil, err
	}
	return []func(){func() { c.Run(w.ctx, 1) }}, nil
}

func fiveMinutes() time.Duration { return 5 * time.Minute }

// countable is the server's description of its resources.
func countable() ([]*metav1.APIResourceList, error) {
	var lists []*metav1.APIResourceList
	for gv, names := range map[string][]string{
		"v1":      {"pods", "services", "persistentvolumeclaims", "configmaps", "resourcequotas", "replicationcontrollers"},
		"apps/v1": {"deployments"},
	} {
		list := &metav1.APIResourceList{GroupVersion: gv}
		for _, name := range names {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Namespaced: true, Verbs: metav1.Verbs{"create", "list", "watch", "delete"}})
		}
		lists = append(lists, list)
	}
	return lists, nil
}

func randomQuotas(r *rand.Rand) step {
	pod, other, q := fmt.Sprint("p", r.IntN(4)), fmt.Sprint("o", r.IntN(3)), fmt.Sprint("q", r.IntN(3))
	switch r.IntN(20) {
	case 0, 1, 2, 3:
		return step{do: "create", kind: podKind, name: pod, body: randomPod(r)}
	case 4, 5:
		return step{do: "status", kind: podKind, name: pod, body: fmt.Sprintf("status: {phase: %s}", pick(r, "Running", "Succeeded", "Failed"))}
	case 6:
		return step{do: pick(r, "delete", "remove"), kind: podKind, name: pod}
	case 7:
		return step{do: "patch", kind: podKind, name: pod, body: fmt.Sprintf("spec: {activeDeadlineSeconds: %d}", 10+r.IntN(9))}
	case 8, 9:
		return step{do: "create", kind: claimKind, name: other,
			body: fmt.Sprintf("spec: {accessModes: [ReadWriteOnce], %sresources: {requests: {storage: %s}}}", pick(r, "", "storageClassName: gold, "), pick(r, "1Gi", "500Mi"))}
	case 10:
		return step{do: "create", kind: serviceKind, name: other,
			body: fmt.Sprintf("spec: {type: %s, ports: [{port: 80}%s]}", pick(r, "ClusterIP", "NodePort", "LoadBalancer"), pick(r, "", ", {name: b, port: 81}"))}
	case 11:
		return step{do: "patch", kind: serviceKind, name: other, body: fmt.Sprintf("spec: {type: %s}", pick(r, "NodePort", "LoadBalancer"))}
	case 12:
		return step{do: "create", kind: pick(r, configMapKind, deploymentKind), name: other,
			body: "spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}"}
	case 13, 14:
		return step{do: "delete", kind: pick(r, claimKind, serviceKind, configMapKind, deploymentKind), name: other}
	case 15:
		return step{do: "delete", kind: quotaKind, name: q}
	case 16:
		return step{do: "patch", kind: quotaKind, name: q, body: fmt.Sprintf("spec: {hard: {%s}}", randomHard(r, pick(r, "", podScope)))}
	}
	scope := pick(r, "", "", "", podScope)
	return step{do: "create", kind: quotaKind, name: q,
		body: fmt.Sprintf("spec: {hard: {%s}%s}", randomHard(r, scope), strings.ReplaceAll(scope, podScope, randomScope(r)))}
}

// podScope says that a quota is about Pods only.
const podScope = "pods"

func randomScope(r *rand.Rand) string {
	return pick(r, ", scopes: [BestEffort]", ", scopes: [NotBestEffort]", ", scopes: [Terminating]", ", scopes: [NotTerminating]", ", scopes: [PriorityClass]",
		", scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high, low]}]}",
		", scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: NotIn, values: [high]}]}",
		", scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: DoesNotExist}, {scopeName: NotTerminating, operator: Exists}]}",
		", scopes: [CrossNamespacePodAffinity]")
}

func randomHard(r *rand.Rand, scope string) string {
	names := []string{"pods", "count/pods", "requests.cpu", "cpu", "limits.cpu", "requests.memory", "limits.memory", "requests.example.com/gpu", "requests.ephemeral-storage"}
	if scope == "" {
		names = append(names, "services", "services.nodeports", "services.loadbalancers", "count/services", "persistentvolumeclaims", "requests.storage",
			"count/configmaps", "configmaps",
			"count/deployments.apps", "resourcequotas", "gold.storageclass.storage.k8s.io/requests.storage", "gold.storageclass.storage.k8s.io/persistentvolumeclaims")
	}
	var hard []string
	for range 1 + r.IntN(4) {
		hard = append(hard, fmt.Sprintf("%q: %q", pick(r, names...), pick(r, "1", "2", "5", "10Gi")))
	}
	unique := map[string]bool{}
	var kept []string
	for _, h := range hard {
		if name, _, _ := strings.Cut(h, ":"); !unique[name] {
			unique[name], kept = true, append(kept, h)
		}
	}
	return strings.Join(kept, ", ")
}

func randomPod(r *rand.Rand) string {
	resources := pick(r, "", "", ", resources: {requests: {cpu: 100m, memory: 1Gi}}", ", resources: {requests: {cpu: 500m, memory: 1Gi}, limits: {cpu: 1, memory: 1Gi}}",
		", resources: {limits: {example.com/gpu: 1}, requests: {example.com/gpu: 1}}",
		", resources: {limits: {cpu: 200m, memory: 64Mi, ephemeral-storage: 1Gi}, requests: {cpu: 200m, memory: 64Mi, ephemeral-storage: 1Gi}}")
	init := pick(r, "", "", ", initContainers: [{name: i, image: i, resources: {requests: {cpu: 700m}}}]",
		", initContainers: [{name: i, image: i, restartPolicy: Always, resources: {requests: {cpu: 50m}, limits: {cpu: 60m}}}]")
	more := pick(r, "", "", ", activeDeadlineSeconds: 30", ", priorityClassName: high", ", priorityClassName: low", ", overhead: {cpu: 10m}",
		", affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z, namespaces: [x], labelSelector: {}}]}}")
	return fmt.Sprintf("spec: {nodeName: n1, containers: [{name: c, image: i%s}]%s%s}", resources, init, more)
}
