package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/stagecraft-go/stagecraft/internal/managedfields"
	"github.com/stagecraft-go/stagecraft/internal/patch"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind describes a kind of object that a [Cluster] stores. A Cluster has the stable built-in kinds,
// and the kinds of the CustomResourceDefinitions that are stored in it.
type Kind struct {
	schema.GroupVersionKind
	Resource      string   // plural name; default: Kind in lower case with an s
	ClusterScoped bool     // objects have no namespace
	Status        bool     // status is a subresource
	Fields        []string // paths for field selectors, in addition to metadata.name and metadata.namespace
}

// Kinds returns the present kinds, by group, version and name.
func (c *Cluster) Kinds() []Kind {
	c.mu.RLock()
	defer c.mu.RUnlock()
	kinds := make([]Kind, 0, len(c.kinds))
	for _, k := range c.kinds {
		kinds = append(kinds, k.Kind)
	}
	slices.SortFunc(kinds, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind))
	})
	return kinds
}

// kind is a Kind in use. It is immutable.
type kind struct {
	Kind
	traits
	schema     patch.Schema
	fields     func() managedfields.Type
	builtin    bool
	form       form
	table      *table
	apiVersion string
}

// traits is a set of properties of a kind.
type traits uint16

const (
	cluster    traits = 1 << iota // ClusterScoped
	status                        // Status
	counted                       // metadata.generation counts changes of the spec
	annotated                     // ... and of annotations
	graceful                      // deletion has a grace period
	freeNames                     // names need only be path segments
	labelNames                    // names are labels of DNS
	ownLabels                     // a status write cannot change labels
	ownOwners                     // a status write cannot change owner references
	orphans                       // by default a deletion leaves the dependents
	versioned                     // updates must name the version of the object
	ownMeta    = ownLabels | ownOwners
)

func (t traits) has(any traits) bool { return t&any != 0 }

// builtins are the stable kinds of Kubernetes 1.37, by group and version.
var builtins = map[schema.GroupVersion][]struct {
	kind, resource string
	traits         traits
	fields         string
}{
	{Version: "v1"}: {
		{"ConfigMap", "configmaps", 0, ""},
		{"Endpoints", "endpoints", 0, ""},
		{"Event", "events", freeNames, "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath reason reportingComponent source type"},
		{"LimitRange", "limitranges", 0, ""},
		{"Namespace", "namespaces", cluster | status | labelNames, "status.phase name"},
		{"Node", "nodes", cluster | status, "spec.unschedulable"},
		{"PersistentVolume", "persistentvolumes", cluster | status, "name"},
		{"PersistentVolumeClaim", "persistentvolumeclaims", status, "name"},
		{"Pod", "pods", status | counted | graceful | ownOwners, "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork status.phase status.podIP status.nominatedNodeName"},
		{"PodTemplate", "podtemplates", counted, ""},
		{"ReplicationController", "replicationcontrollers", status | counted | orphans, "status.replicas"},
		{"ResourceQuota", "resourcequotas", status, ""},
		{"Secret", "secrets", 0, "type"},
		{"Service", "services", status | labelNames, "spec.clusterIP spec.type"},
		{"ServiceAccount", "serviceaccounts", 0, ""},
	},
	{Group: "apps", Version: "v1"}: {
		{"ControllerRevision", "controllerrevisions", 0, ""},
		{"DaemonSet", "daemonsets", status | counted, ""},
		{"Deployment", "deployments", status | counted | annotated | ownLabels, ""},
		{"ReplicaSet", "replicasets", status | counted, "status.replicas"},
		{"StatefulSet", "statefulsets", status | counted | labelNames, ""},
	},
	{Group: "batch", Version: "v1"}: {
		{"CronJob", "cronjobs", status | counted, ""},
		{"Job", "jobs", status | counted | orphans, "status.successful"},
	},
	{Group: "autoscaling", Version: "v2"}: {
		{"HorizontalPodAutoscaler", "horizontalpodautoscalers", status, ""},
	},
	{Group: "policy", Version: "v1"}: {
		{"PodDisruptionBudget", "poddisruptionbudgets", status | counted | freeNames | versioned, ""},
	},
	{Group: "networking.k8s.io", Version: "v1"}: {
		{"IPAddress", "ipaddresses", cluster | freeNames, ""},
		{"Ingress", "ingresses", status | counted, ""},
		{"IngressClass", "ingressclasses", cluster | counted, ""},
		{"NetworkPolicy", "networkpolicies", counted, ""},
		{"ServiceCIDR", "servicecidrs", cluster | status | ownMeta, ""},
	},
	{Group: "storage.k8s.io", Version: "v1"}: {
		{"CSIDriver", "csidrivers", cluster | counted | versioned, ""},
		{"CSINode", "csinodes", cluster | versioned, ""},
		{"CSIStorageCapacity", "csistoragecapacities", versioned, ""},
		{"StorageClass", "storageclasses", cluster, ""},
		{"VolumeAttachment", "volumeattachments", cluster | status | versioned, ""},
		{"VolumeAttributesClass", "volumeattributesclasses", cluster, ""},
	},
	{Group: "coordination.k8s.io", Version: "v1"}: {{"Lease", "leases", versioned, ""}},
	{Group: "discovery.k8s.io", Version: "v1"}:    {{"EndpointSlice", "endpointslices", counted, ""}},
	{Group: "events.k8s.io", Version: "v1"}:       {{"Event", "events", 0, ""}},
	{Group: "rbac.authorization.k8s.io", Version: "v1"}: {
		{"ClusterRole", "clusterroles", cluster | freeNames, ""},
		{"ClusterRoleBinding", "clusterrolebindings", cluster | freeNames, ""},
		{"Role", "roles", freeNames, ""},
		{"RoleBinding", "rolebindings", freeNames, ""},
	},
	{Group: "scheduling.k8s.io", Version: "v1"}: {{"PriorityClass", "priorityclasses", cluster | counted, ""}},
	{Group: "node.k8s.io", Version: "v1"}:       {{"RuntimeClass", "runtimeclasses", cluster | versioned, ""}},
	{Group: "certificates.k8s.io", Version: "v1"}: {
		{"CertificateSigningRequest", "certificatesigningrequests", cluster | status | freeNames, "spec.signerName"},
	},
	{Group: "admissionregistration.k8s.io", Version: "v1"}: {
		{"MutatingAdmissionPolicy", "mutatingadmissionpolicies", cluster | counted | versioned, ""},
		{"MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", cluster | counted | versioned, ""},
		{"MutatingWebhookConfiguration", "mutatingwebhookconfigurations", cluster | counted | versioned, ""},
		{"ValidatingAdmissionPolicy", "validatingadmissionpolicies", cluster | status | counted | ownMeta | versioned, ""},
		{"ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", cluster | counted | versioned, ""},
		{"ValidatingWebhookConfiguration", "validatingwebhookconfigurations", cluster | counted | versioned, ""},
	},
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1"}: {
		{"FlowSchema", "flowschemas", cluster | status | counted | ownMeta, ""},
		{"PriorityLevelConfiguration", "prioritylevelconfigurations", cluster | status | counted | ownMeta, ""},
	},
	{Group: "resource.k8s.io", Version: "v1"}: {
		{"DeviceClass", "deviceclasses", cluster | counted, ""},
		{"ResourceClaim", "resourceclaims", status | ownMeta, ""},
		{"ResourceClaimTemplate", "resourceclaimtemplates", 0, ""},
		{"ResourceSlice", "resourceslices", cluster | counted, "spec.nodeName spec.driver"},
	},
	{Group: "apiextensions.k8s.io", Version: "v1"}:   {{"CustomResourceDefinition", "customresourcedefinitions", cluster | status | counted | versioned, ""}},
	{Group: "apiregistration.k8s.io", Version: "v1"}: {{"APIService", "apiservices", cluster | status | versioned | freeNames, ""}},
}

func (s *store) addBuiltins() {
	for gv, rows := range builtins {
		for _, row := range rows {
			gvk := gv.WithKind(row.kind)
			merge, _ := patch.SchemaFor(gvk.Group, gvk.Version, gvk.Kind)
			s.add(&kind{
				Kind:    Kind{gvk, row.resource, row.traits.has(cluster), row.traits.has(status), strings.Fields(row.fields)},
				traits:  row.traits,
				schema:  merge,
				fields:  func() managedfields.Type { return managedfields.BuiltIn(gvk) },
				builtin: true,
			})
		}
	}
}

// addCustom adds a kind with its OpenAPI schema, or replaces a custom one of the same name.
func (s *store) addCustom(k Kind, openapi map[string]any, f form) {
	if old := s.kinds[k.GroupVersionKind]; old != nil && old.builtin {
		return
	}
	if k.Resource == "" {
		k.Resource = strings.ToLower(k.Kind) + "s"
	}
	k.Fields = slices.Clone(k.Fields)
	s.add(&kind{Kind: k, form: f, traits: counted | ownMeta | versioned, fields: sync.OnceValue(func() managedfields.Type { return managedfields.Defined(openapi) })})
}

// add adds a kind with its table. All versions of a resource share one table.
func (s *store) add(k *kind) {
	at := k.groupResource()
	k.apiVersion = k.GroupVersion().String()
	if s.tables[at] == nil {
		s.tables[at] = newTable(at, s.options)
		s.tables[at].apiVersion = k.apiVersion
	}
	if k.table = s.tables[at]; k.table.apiVersion != k.apiVersion {
		k.table.apiVersion = ""
	}
	s.kinds[k.GroupVersionKind] = k
}

func (k *kind) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.Resource}
}

// kindOf returns a kind by its name. For an unknown kind the error is the same as an API server's.
func (s *store) kindOf(gvk schema.GroupVersionKind) (*kind, error) {
	if k := s.kinds[gvk]; k != nil {
		return k, nil
	}
	err := apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, "")
	err.ErrStatus.Message = fmt.Sprintf("the server could not find the requested resource: %s is no known kind", gvk)
	return nil, err
}
