package kubestellar_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
)

// What a StatusCollector makes of two clusters, when one has not reported yet.
func ExampleCombine() {
	policy := &control.BindingPolicy{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "p"}, Spec: control.BindingPolicySpec{
		ClusterSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"env": "dev"}}},
		Downsync: []control.DownsyncPolicyClause{{Resources: []string{"deployments"},
			DownsyncModulation: control.DownsyncModulation{StatusCollectors: []string{"ready"}}}},
	}}
	dev := map[string]string{"env": "dev"}
	binding, err := kubestellar.Resolve(policy, kubestellar.Inventory{
		Objects:  []kubestellar.Object{{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: "web"}},
		Clusters: map[string]map[string]string{"c1": dev, "c2": dev, "c3": {"env": "prod"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	filter := "has(returned.status.availableReplicas) && returned.status.availableReplicas == obj.spec.replicas"
	ready, err := kubestellar.Compile(control.StatusCollectorSpec{Filter: &filter, CombinedFields: []control.NamedAggregator{{Name: "clusters", Type: "COUNT"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	status, _ := kubestellar.Combine(kubestellar.Upstream, kubestellar.Input{
		Binding: binding, Resource: "deployments", Collectors: map[string]*kubestellar.Collector{"ready": ready},
		Object: &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": "web", "namespace": "shop", "uid": "o"}, "spec": map[string]any{"replicas": int64(2)}}},
		Reports: map[string]kubestellar.Report{"c1": {Status: map[string]any{"availableReplicas": int64(2)}}},
	})
	fmt.Println(status.Name, status.Results[0].ColumnNames, *status.Results[0].Rows[0].Columns[0].Number, "of", len(binding.Spec.Destinations))
	// Output: o.p [clusters] 1 of 2
}
