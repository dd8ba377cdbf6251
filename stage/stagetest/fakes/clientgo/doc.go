// Package clientgo has the fakes of client-go, typed and dynamic, read and write a cluster in memory: usually that of a lab, in which
// workload controllers and Stages answer.
//
// # Usage
//
//	lab := stagetest.New(t, stagetest.LabOptions{})
//	client := fake.NewClientset() // of k8s.io/client-go/kubernetes/fake
//	clientgo.Attach(&client.Fake, lab.Cluster(), scheme.Scheme)
//
//	_, err := client.AppsV1().Deployments("default").Create(ctx, web, metav1.CreateOptions{})
//	lab.WaitCurrent(web)
//
// Clientsets that are generated for custom kinds are used alike, with their own scheme; their kinds have to be in the cluster
// (LabOptions.Kinds or Definitions). The dynamic fake takes unstructured objects and has to be told the kinds of lists:
//
//	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), clientgo.ListKinds(lab.Cluster()))
//	clientgo.Attach(&client.Fake, lab.Cluster(), nil)
//
// Reactors that are prepended afterwards come first, to make requests fail. Fake.Actions lists what was asked for, as ever. Objects given to
// the constructor of the fake are not in the cluster: create them, or use Lab.Apply.
//
// # Compatibility
//
// Requests are answered as package stage/memory says, which is as an API server does and not as client-go's ObjectTracker: versions conflict,
// status is a subresource, field selectors select, names are generated, finalizers and grace periods hold objects back, owners take their
// dependents with them, and a watch without a version begins with what is there. Pods can be bound and evicted, and workloads scaled.
// Other subresources are not found; logs and proxies are left to the fake.
//
// # Concurrency
//
// The fakes stay safe for concurrent use; informers and queues work. Time in the cluster passes when the lab is told so: LabOptions.Sync has controllers
// in other goroutines keep step, in a testing/synctest bubble.
package clientgo
