package kstatus

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/kstatus/internal/words"
)

// What it means that an object has no status:
//
//   - Kinds that never get one are Current as soon as they exist.
//   - If the controller of a kind is known to report a status, the object is InProgress until it
//     does.
//   - For all other kinds, an object is InProgress for the first five minutes, then Current, unless
//     it has a finalizer or its kind is one that ends: something then works on it.

// reportGrace is how long an unknown controller has to report on a new object. In this time its own
// Pod can pull its image, start and become the leader.
const reportGrace = 5 * time.Minute

// withoutStatus is the rule for all kinds. A status that is empty, but not missing, shows that the
// kind has one.
func withoutStatus(o Object) (Result, bool) {
	switch {
	case len(o.status) > 0:
		return Result{}, false
	case isStatusless(&o):
		return current.on(BasisKind), true
	}
	created := o.created()
	if created.IsZero() || o.status != nil || expectsReport(&o) {
		return unreported(), true
	}
	left := created.Add(reportGrace).Sub(o.now)
	if left <= 0 {
		return Current.Because("", "No status within 5 minutes, so no controller reports one").At("status"), true
	}
	r := unreported()
	r.RecheckAfter = left
	return r, true
}

// expectsReport reports whether something works on the object: a controller that has put a finalizer
// on it, or one that brings it to an end.
func expectsReport(o *Object) bool {
	return len(o.List("metadata", "finalizers")) > 0 || words.RunsToEnd(o.kind) || strings.HasSuffix(o.kind, "Snapshot")
}

func unreported() Result {
	return inProgress("NoStatus", text("Nothing has reported a status yet"), "status")
}

// reporting adds the rule reported to rules for kinds whose controllers are known to report.
func reporting(rules map[schema.GroupKind]Rule) map[schema.GroupKind]Rule {
	for kind, rule := range rules {
		rules[kind] = either(rule, reported)
	}
	return rules
}

// reported waits for a status.
func reported(o Object) (Result, bool) {
	if len(o.status) > 0 || isStatusless(&o) {
		return Result{}, false
	}
	if r, suspended := suspension(o); suspended {
		return r, true
	}
	return unreported(), true
}

// isStatusless reports whether objects of this kind never get a status.
func isStatusless(o *Object) bool {
	return statusless[o.groupKind()] || statusless[schema.GroupKind{Group: o.group, Kind: anyKind}] ||
		strings.HasSuffix(o.kind, "Template")
}

// reporters are the kinds whose controllers report a status and that need no other rule. In the
// built-in groups these are all kinds that are not in statusless.
var reporters = kindTable{
	"*.":                        reported,
	"*.apiextensions.k8s.io":    reported,
	"*.apiregistration.k8s.io":  reported,
	"*.apps":                    reported,
	"*.autoscaling":             reported,
	"*.batch":                   reported,
	"*.certificates.k8s.io":     reported,
	"*.extensions":              reported,
	"*.networking.k8s.io":       reported,
	"*.policy":                  reported,
	"*.resource.k8s.io":         reported,
	"*.snapshot.storage.k8s.io": reported,
	"*.storage.k8s.io":          reported,

	"*.core.humio.com":         reported,
	"*.k8s.keycloak.org":       reported,
	"*.k8s.mariadb.com":        reported,
	"*.provisioning.cattle.io": reported,
	"ServiceInstance,ServiceBinding.services.cloud.sap.com":                                     reported,
	"PostgresCluster.postgres-operator.crunchydata.com":                                         reported,
	"postgresql.acid.zalan.do":                                                                  reported,
	"MongoDBCommunity.mongodbcommunity.mongodb.com":                                             reported,
	"InnoDBCluster.mysql.oracle.com":                                                            reported,
	"TidbCluster.pingcap.com":                                                                   reported,
	"CassandraDatacenter.cassandra.datastax.com":                                                reported,
	"K8ssandraCluster.k8ssandra.io":                                                             reported,
	"ScyllaCluster.scylla.scylladb.com":                                                         reported,
	"CrdbCluster.crdb.cockroachlabs.com":                                                        reported,
	"CephBlockPool,CephFilesystem,CephObjectStore.ceph.rook.io":                                 reported,
	"VaultStaticSecret,VaultDynamicSecret,VaultPKISecret.secrets.hashicorp.com":                 reported,
	"ClusterPolicy,Policy.kyverno.io":                                                           reported,
	"ClusterPolicy,NVIDIADriver.nvidia.com":                                                     reported,
	"Installation,TigeraStatus,APIServer.operator.tigera.io":                                    reported,
	"GitRepo,Bundle,BundleDeployment.fleet.cattle.io":                                           reported,
	"KubeVirt.kubevirt.io":                                                                      reported,
	"CDI.cdi.kubevirt.io":                                                                       reported,
	"HTTPRoute,GRPCRoute,TLSRoute,TCPRoute,UDPRoute,BackendTLSPolicy.gateway.networking.k8s.io": reported,
	"TFJob,PyTorchJob,MPIJob,XGBoostJob,PaddleJob.kubeflow.org":                                 reported,
	"VerticalPodAutoscaler.autoscaling.k8s.io":                                                  reported,
}

// statusless are the kinds that are Current as soon as they exist: no controller reports on them,
// or what it reports does not say whether they are ready.
var statusless = kindSet(map[string]string{
	"":                             "Binding ConfigMap Endpoints Event LimitRange PodTemplate Secret ServiceAccount",
	"admissionregistration.k8s.io": "*",
	"apps":                         "ControllerRevision",
	"coordination.k8s.io":          "*",
	"discovery.k8s.io":             "*",
	"events.k8s.io":                "*",
	"flowcontrol.apiserver.k8s.io": "*",
	"node.k8s.io":                  "*",
	"rbac.authorization.k8s.io":    "*",
	"scheduling.k8s.io":            "*",
	"storage.k8s.io":               "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttributesClass",
	"networking.k8s.io":            "IngressClass NetworkPolicy IPAddress",
	"snapshot.storage.k8s.io":      "VolumeSnapshotClass",
	"internal.apiserver.k8s.io":    "*",
	"metrics.k8s.io":               "*",
	"resource.k8s.io":              "DeviceClass ResourceSlice DeviceTaintRule",
	"certificates.k8s.io":          "ClusterTrustBundle",

	"argoproj.io": "AppProject WorkflowEventBinding",
	"cilium.io": "CiliumBGPAdvertisement CiliumBGPPeerConfig CiliumBGPPeeringPolicy CiliumCIDRGroup CiliumClusterwideEnvoyConfig " +
		"CiliumClusterwideNetworkPolicy CiliumEgressGatewayPolicy CiliumEndpointSlice CiliumEnvoyConfig CiliumIdentity CiliumL2AnnouncementPolicy " +
		"CiliumLocalRedirectPolicy CiliumNetworkPolicy CiliumNode CiliumNodeConfig CiliumPodIPPool",
	"cloud.google.com":                  "BackendConfig",
	"config.gatekeeper.sh":              "*",
	"config.openshift.io":               "APIServer Authentication Build Console DNS FeatureGate Image Infrastructure Ingress Network Node OAuth Project Proxy Scheduler",
	"configuration.konghq.com":          "*",
	"console.openshift.io":              "*",
	"constraints.gatekeeper.sh":         "*",
	"crd.k8s.amazonaws.com":             "ENIConfig",
	"crd.projectcalico.org":             "*",
	"dapr.io":                           "*",
	"elbv2.k8s.aws":                     "IngressClassParams",
	"extensions.istio.io":               "*",
	"generators.external-secrets.io":    "*",
	"getambassador.io":                  "*",
	"helm.cattle.io":                    "HelmChartConfig",
	"hub.traefik.io":                    "*",
	"instancetype.kubevirt.io":          "*",
	"k3s.cattle.io":                     "Addon",
	"k8s.cni.cncf.io":                   "*",
	"keda.sh":                           "ClusterTriggerAuthentication TriggerAuthentication",
	"kubeflow.org":                      "PodDefault",
	"kyverno.io":                        "PolicyException",
	"linkerd.io":                        "*",
	"machineconfiguration.openshift.io": "MachineConfig",
	"metallb.io":                        "*",
	"monitoring.coreos.com":             "AlertmanagerConfig PodMonitor Probe PrometheusRule ScrapeConfig ServiceMonitor",
	"networking.gke.io":                 "FrontendConfig",
	"networking.istio.io":               "*",
	"nfd.k8s-sigs.io":                   "NodeFeature NodeFeatureRule",
	"opentelemetry.io":                  "Instrumentation",
	"policies.kyverno.io":               "PolicyException",
	"policy.linkerd.io":                 "*",
	"projectcalico.org":                 "*",
	"secrets-store.csi.x-k8s.io":        "*",
	"security.istio.io":                 "*",
	"security.openshift.io":             "SecurityContextConstraints",
	"telemetry.istio.io":                "*",
	"topology.node.k8s.io":              "*",
	"traefik.containo.us":               "*",
	"traefik.io":                        "*",
	"user.openshift.io":                 "*",
	"vpcresources.k8s.aws":              "SecurityGroupPolicy",
	"wgpolicyk8s.io":                    "*",
})

func kindSet(groups map[string]string) map[schema.GroupKind]bool {
	out := map[schema.GroupKind]bool{}
	for group, kinds := range groups {
		for kind := range strings.FieldsSeq(kinds) {
			out[schema.GroupKind{Group: group, Kind: kind}] = true
		}
	}
	return out
}
