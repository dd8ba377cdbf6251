package rehearse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// KubeStellarOptions of [NewKubeStellar].
type KubeStellarOptions struct {
	// Hub has the BindingPolicies, the StatusCollectors and the workload. It must know [Kinds].
	Hub     *memory.Cluster
	Members []Member
	// Workload is the kinds of the objects on the hub that Bindings may hold. Members must know
	// them too. Selecting by the labels of namespaces needs Namespace among them.
	Workload []schema.GroupVersionKind
	// Latency is how long a status of a member takes to reach the hub. Default 0.
	Latency time.Duration
}

// A Member is a cluster in memory that receives workload and reports its status.
type Member struct {
	Name    string
	Labels  map[string]string
	Cluster *memory.Cluster
}

// A KubeStellar stands in for KubeStellar between a hub and other clusters, all of them in memory,
// so that a player of package staged/player, or any other controller, can be tested against it. It
// works only in [KubeStellar.Step], which its user calls; it starts no goroutine. It removes from
// members only what it has created there.
//
// It is safe for concurrent use.
type KubeStellar struct {
	options KubeStellarOptions
	mu      sync.Mutex
	hub     hub
}

// Kinds returns the kinds that a hub needs to know: BindingPolicy, Binding, StatusCollector and
// CombinedStatus. v1alpha1.CRD defines the kind StagedBindingPolicy.
func Kinds() []memory.Kind {
	return []memory.Kind{
		{GroupVersionKind: control.GroupVersion.WithKind("BindingPolicy"), Resource: "bindingpolicies", ClusterScoped: true, Status: true},
		{GroupVersionKind: control.GroupVersion.WithKind("Binding"), ClusterScoped: true, Status: true},
		{GroupVersionKind: control.GroupVersion.WithKind("StatusCollector"), ClusterScoped: true, Status: true},
		{GroupVersionKind: control.GroupVersion.WithKind("CombinedStatus"), Resource: "combinedstatuses"},
	}
}

// NewKubeStellar returns a KubeStellar that has done nothing yet. The error is [Errors], with all
// faults of the options.
func NewKubeStellar(o KubeStellarOptions) (*KubeStellar, error) {
	if err := o.check().err(); err != nil {
		return nil, err
	}
	o.Hub = o.Hub.Shared()
	k := &KubeStellar{options: o, hub: hub{labels: map[string]map[string]string{}}}
	for _, m := range slices.SortedFunc(slices.Values(o.Members), func(a, b Member) int { return cmp.Compare(a.Name, b.Name) }) {
		k.hub.labels[m.Name] = labelsOf(m.Labels)
		k.hub.members = append(k.hub.members, newMember(m.Name, m.Cluster, o.Latency))
	}
	return k, nil
}

func (o *KubeStellarOptions) check() (faults Errors) {
	if o.Hub == nil {
		faults.addf("KubeStellarOptions.Hub", "missing")
	}
	var names []string
	for i, m := range o.Members {
		field := fmt.Sprintf("KubeStellarOptions.Members[%d]", i)
		faults.unique(field+".Name", m.Name, names)
		names = append(names, m.Name)
		if m.Cluster == nil {
			faults.addf(field+".Cluster", "missing")
		}
	}
	faults.duration("KubeStellarOptions.Latency", o.Latency)
	return faults
}

// Step does all that KubeStellar would do now: it writes the Binding of each BindingPolicy on the
// hub; creates, updates and deletes objects in the members, as the Bindings say; receives the
// statuses that are old enough; and writes the CombinedStatuses. Times must not decrease from call
// to call.
//
// The error joins the faults of single objects, such as an invalid StatusCollector. Step leaves
// these objects out and works on all others.
func (k *KubeStellar) Step(ctx context.Context, now time.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	faults := k.read(ctx)
	bindings, err := k.hub.bindings()
	faults = errors.Join(faults, err)
	for _, m := range k.hub.members {
		_, err := m.place(ctx, k.hub.wanted(bindings, m.name), now, func(string) {})
		faults = errors.Join(faults, err, m.sendStatuses(ctx, now))
		m.receiveStatuses(now)
	}
	return errors.Join(faults, k.write(ctx, bindings))
}

// Clusters returns the labels of the members, by name, for Options.Clusters of package
// staged/player.
func (k *KubeStellar) Clusters() map[string]map[string]string { return k.hub.labels }

// Reports returns when the members reported the objects of a StagedBindingPolicy, as of the last
// step, for Options.Reports of package staged/player.
func (k *KubeStellar) Reports(policy string) (reports []bindingpolicy.Report) {
	k.mu.Lock()
	defer k.mu.Unlock()
	bindings, _ := k.hub.bindings() // Step has returned the error
	for _, b := range bindings {
		if !strings.HasPrefix(b.Name, policy+v1alpha1.StageSeparator) {
			continue
		}
		for _, c := range clauses(b) {
			reports = append(reports, k.hub.report(b, refOf(c)))
		}
	}
	return reports
}

// read reads the objects on the hub.
func (k *KubeStellar) read(ctx context.Context) (faults error) {
	k.hub.objects = map[fleet.ObjectRef]*unstructured.Unstructured{}
	k.hub.policies = map[string]*control.BindingPolicy{}
	k.hub.collectors = map[string]*kubestellar.Collector{}
	known := catalog{}
	each := func(kind schema.GroupVersionKind, take func(*unstructured.Unstructured) error) {
		list, err := k.options.Hub.List(ctx, kind, "", metav1.ListOptions{})
		if err != nil {
			faults = errors.Join(faults, fmt.Errorf("hub: %w", err))
			return
		}
		for i := range list.Items {
			if err := take(&list.Items[i]); err != nil {
				faults = errors.Join(faults, fmt.Errorf("%s %s: %w", kind.Kind, list.Items[i].GetName(), err))
			}
		}
	}
	each(definitionKind, func(obj *unstructured.Unstructured) error { known.define(obj); return nil })
	for _, kind := range k.options.Workload {
		each(kind, func(obj *unstructured.Unstructured) error { k.hub.objects[known.refOf(obj)] = obj; return nil })
	}
	each(control.GroupVersion.WithKind("BindingPolicy"), k.takePolicy)
	each(control.GroupVersion.WithKind("StatusCollector"), k.takeCollector)
	return faults
}

func (k *KubeStellar) takePolicy(obj *unstructured.Unstructured) error {
	if obj.GetDeletionTimestamp() != nil {
		return nil
	}
	p := new(control.BindingPolicy)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, p); err != nil {
		return err
	}
	k.hub.policies[p.Name] = p
	return nil
}

func (k *KubeStellar) takeCollector(obj *unstructured.Unstructured) error {
	var c control.StatusCollector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &c); err != nil {
		return err
	}
	compiled, err := kubestellar.Compile(c.Spec)
	if err != nil {
		return err
	}
	k.hub.collectors[c.Name] = compiled
	return nil
}
