// Package clientgo makes the fakes of client-go, typed and dynamic, read and write a cluster in
// memory: usually that of a lab, in which workload controllers and Stages react.
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
// Generated clientsets for custom kinds are used in the same way, with their own scheme. Their
// kinds must be in the cluster (LabOptions.Kinds or Definitions). The dynamic fake takes
// unstructured objects and needs the kinds of lists:
//
//	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), clientgo.ListKinds(lab.Cluster()))
//	clientgo.Attach(&client.Fake, lab.Cluster(), nil)
//
// Reactors that are prepended later come first, for example to make requests fail. Fake.Actions
// lists the requests as usual. Objects given to the constructor of the fake are not in the cluster:
// create them, or use Lab.Apply.
//
// # Compatibility
//
// Package stage/memory answers the requests, as an API server does and unlike client-go's
// ObjectTracker: old versions are conflicts, status is a subresource, field selectors work, names
// are generated, finalizers and grace periods delay deletion, dependents are deleted after their
// owners, and a watch without a version begins with the existing objects. Pods can be bound and
// evicted, and workloads scaled. Other subresources are not found; the fake itself answers requests
// for logs and proxies.
//
// # Concurrency
//
// The fakes are safe for concurrent use; informers and queues work. Time in the cluster passes only
// when the test says so: in a testing/synctest bubble, LabOptions.Sync lets controllers in other
// goroutines keep up with the lab.
package clientgo
