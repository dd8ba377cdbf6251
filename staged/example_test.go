package staged_test

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

const nginx = `apiVersion: community.kubestellar.io/v1alpha1
kind: StagedBindingPolicy
metadata: {name: nginx}
spec:
  downsync:
  - statusCollectors: [ready]
    objectSelectors: [{matchLabels: {app: nginx}}]
  stages:
  - name: dev
    clusterSelectors: [{matchLabels: {env: dev}}]
    condition: num('sum') >= 2
    soak: 10m
  - name: prod
    clusterSelectors: [{matchLabels: {env: prod}}]
`

// A controller: decide, store the status, write, look again.
func ExamplePolicy_Decide() {
	policies, err := staged.Compile(staged.Options{}, staged.Parse("nginx.yaml", []byte(nginx)))
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	seen := bindingpolicy.Observation{Meta: metav1.ObjectMeta{Name: "nginx", UID: "1"}} // what your informers hold
	d := bindingpolicy.Decide(policies[0], v1alpha1.Status{}, seen, now)
	fmt.Println("active:", d.Status.ActiveStage)
	for _, p := range d.Ensure {
		fmt.Println("ensure:", p.Name, p.Spec.ClusterSelectors[0].MatchLabels)
	}
	fmt.Println(d.Message)
	// Output:
	// active: dev
	// ensure: nginx.stage.dev map[env:dev]
	// stage "dev": BindingPolicy nginx.stage.dev does not exist yet
}

func ExamplePolicy_Explain() {
	policies, err := staged.Compile(staged.Options{}, staged.Parse("nginx.yaml", []byte(nginx)))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range bindingpolicy.Explain(policies[0], v1alpha1.Status{ActiveStage: "dev"}, halfReady(), time.Now()) {
		fmt.Println(line)
	}
	// Output:
	// waiting: stage "dev": deployments.apps shop/nginx: num("sum") is 1, want >= 2
	// ok: stage "dev": not checked for 1 objects, because it is not known which clusters reported when: silence, age, maxSilent
}

// halfReady is one Deployment in dev with one replica available.
func halfReady() bindingpolicy.Observation {
	number := "1"
	owner := metav1.OwnerReference{Kind: "StagedBindingPolicy", Name: "nginx", UID: "1"}
	labels := map[string]string{}
	for key, value := range map[string]string{"binding-policy": "nginx.stage.dev", "api-group": "apps", "resource": "deployments", "namespace": "shop", "name": "nginx"} {
		labels["status.kubestellar.io/"+key] = value
	}
	b := &control.Binding{ObjectMeta: metav1.ObjectMeta{Name: "nginx.stage.dev", OwnerReferences: []metav1.OwnerReference{{UID: "2"}}}}
	b.Spec.Destinations = []control.Destination{{ClusterID: "dev1"}}
	b.Spec.Workload.NamespaceScope = []control.DownsyncClause{{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: "nginx"}}
	return bindingpolicy.Observation{
		Meta: metav1.ObjectMeta{Name: "nginx", UID: "1"},
		BindingPolicies: []*control.BindingPolicy{{
			ObjectMeta: metav1.ObjectMeta{Name: "nginx.stage.dev", UID: "2", OwnerReferences: []metav1.OwnerReference{owner}},
			Spec: control.BindingPolicySpec{
				ClusterSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"env": "dev"}}},
				Downsync: []control.DownsyncPolicyClause{{
					DownsyncModulation: control.DownsyncModulation{StatusCollectors: []string{"ready"}},
					ObjectSelectors:    []metav1.LabelSelector{{MatchLabels: map[string]string{"app": "nginx"}}},
				}},
			},
		}},
		Bindings: []*control.Binding{b},
		Statuses: []*control.CombinedStatus{{ObjectMeta: metav1.ObjectMeta{Name: "3.2", Labels: labels}, Results: []control.NamedStatusCombination{{
			Name: "ready", ColumnNames: []string{"sum"}, Rows: []control.StatusCombinationRow{{Columns: []control.Value{{Type: "Number", Number: &number}}}},
		}}}},
	}
}

func ExampleCompile_errors() {
	_, err := staged.Compile(staged.Options{}, staged.Parse("nginx.yaml", []byte(`apiVersion: community.kubestellar.io/v1alpha1
kind: StagedBindingPolicy
metadata: {name: nginx}
spec:
  stages:
  - name: dev
    clusterSelectors: [{matchLabels: {env: dev}}]
    condition: ob.results.exists(r, r.name == 'ready')
  - name: dev
    clusterSelectors: [{matchLabels: {env: prod}}]
`)))
	fmt.Println(err)
	// Output:
	// nginx.yaml:8:16: policy "nginx": spec.stages[0].condition: undeclared reference to 'ob'
	// nginx.yaml:9:11: policy "nginx": spec.stages[1].name: stage 0 has this name too
}
