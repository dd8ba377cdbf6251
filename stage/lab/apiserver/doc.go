// Package apiserver serves an in-memory cluster over the HTTP API of kube-apiserver, so that any
// client can use it: client-go, informers, managers of controller-runtime, programs in other
// languages. Usually the cluster is that of a lab, in which workload controllers, a scheduler and
// kubelets react to what clients write.
//
// # Usage
//
//	lab := labtest.New(t, labtest.Options{})
//	config := apiserver.Start(t, lab.Cluster(), apiserver.Options{}) // nothing listens, no program is started
//	manager, err := ctrl.NewManager(config, ctrl.Options{…})         // unmodified
//
// [Listen] serves on loopback, with TLS and a token, for programs; [New] is the handler itself.
//
// Tests that use envtest of controller-runtime run unchanged with the programs of package
// stage/lab/envtest, which stand in for etcd and kube-apiserver.
//
// # Users
//
// A request is that of the administrator, who may do everything, unless it has other credentials or
// impersonates: the certificate of a client ([Listener.User], [ListenOptions].ClientCAs), or the token of
// a ServiceAccount, which a TokenRequest returns. Tokens are signed; those of [Start] and [New] by the same key
// each time, so that runs repeat. A token ends when it expires, and a minute after its ServiceAccount or the Pod or Secret
// that it is bound to was deleted. By [Options].RBAC the roles of the cluster decide what users may do.
//
// # Time
//
// Time is virtual, fast or real; the API is the same. The server has no time of its own but for
// watches that end; ages in Tables are those of the cluster's clock.
//
// Virtual: in a testing/synctest bubble managers with caches, leader election and backoff take ten
// minutes in milliseconds. TestManager is a program with it. The lab follows the bubble's clock with
//
//	labtest.Options{Start: time.Now(), Sync: func(d time.Duration) { time.Sleep(d); synctest.Wait() }}
//
// Real and fast: for programs that are not in a bubble, such as kubectl, the lab follows the clock of
// the machine, speed times as fast, in a goroutine that nobody else uses the lab in:
//
//	lab := labtest.New(t, labtest.Options{Start: time.Now()})
//	listener, err := apiserver.Listen(lab.Cluster(), apiserver.ListenOptions{})
//	err = lab.Simulation().Follow(ctx, 1) // until ctx is done; 60: in a minute an hour passes
//
// The command stagecraft (module examples/stagecraft) is a program with it: stagecraft serve --speed 60. Clients keep their own clocks in
// fast time: timeouts, backoff, leases and the ages in kubectl describe are those of the machine, and
// a Lease that a client renews in real time looks old to controllers of the lab.
//
// What to mind in virtual time:
//
//   - It stands still while a goroutine of the bubble waits for something outside of it: a channel that
//     was made outside, such as wait.NeverStop, is one.
//   - Everything that runs in the bubble has to end with the test, or the test ends as a deadlock.
//     Start ends the server after the functions that were given to t.Cleanup later: register those
//     that stop managers and informers after it.
//   - The rate limits of client-go cost virtual time, 18 s for 100 requests. The configurations of this
//     package have none: QPS is -1.
//   - controller-runtime acts 200 virtual ms after the start. After Lab.Advance a manager may still have
//     to react to what the lab did last: advance a little more before you look.
//
// # Logs, exec and usage
//
// What containers print and do are functions of the program: labtest.Options.Containers, or hooks of
// package stage/lab/containers in a cluster without a lab. The server has them without an option:
// kubectl logs, exec, cp, attach and port-forward work, by WebSocket and by SPDY, and kubectl top if
// the program says what containers use. The kubelet of each Node has /metrics/resource, and
// /stats/summary?only_cpu_and_memory=true, through the proxy of Nodes; a program can serve other paths:
//
//	kubectl get --raw /api/v1/nodes/node-1/proxy/metrics/resource
//
// Without a function a request for a container fails with the code 501. Clients of
// client-go dial for exec and port-forward themselves, so that they need [Listen]; in a bubble
// use Exec of the lab.
//
// # Concurrency
//
// A Server is safe for concurrent use. Requests are answered by the goroutine that net/http has for
// them, watches too; a slow reader delays nobody else.
//
// # In place of fakes
//
// Take this server for whatever runs by itself: clients of client-go, informers, managers, programs. A
// reconciler that a test calls step by step, byte for byte the same each time, takes the client of
// package stage/lab/fakes/ctrlruntime: what a manager does over HTTP depends on goroutines.
//
// What the fakes of client-go have is here:
//
//	fake.NewClientset(objects…)           kubernetes.NewForConfig(Start(t, cluster, Options{})); lab.Apply or Create for the objects
//	NewSimpleDynamicClient(scheme)        dynamic.NewForConfig(…)
//	clientgo.Attach(&client.Fake, …)      the same; the package is no longer there
//	client.Actions()                      [Options].Log: each request with its verb, path and code
//	client.PrependReactor(…)              [Options].Middleware: an http.Handler before the server, which refuses, delays or drops answers
//	interceptor.Funcs                     the same
//
// Unlike a fake it has what every cluster has: set [Options].Bare to leave out the ConfigMap
// kube-root-ca.crt and the ServiceAccount of each namespace. Objects are validated, and clients try
// again what is refused with a Retry-After, which takes no time in a bubble.
//
// # Compatibility
//
// It answers as kube-apiserver 1.36 and says so in /version. The scenarios of internal/dev/contract
// pass over HTTP here and there, and the answers of a table of raw requests are equal (both in
// internal/dev/e2e). Objects are stored by package memory, so its differences are differences here,
// except for what this server adds: defaults, validation, definitions, webhooks and policies.
//
// What is served: the list of paths, discovery (aggregated and not), /version, health, the numbers of requests as
// /metrics, and the issuer and keys of tokens as OpenID Connect has them; OpenAPI v3 and v2, with the recorded
// schemas of built-in kinds and those of definitions; get, list with pages and selectors, watch with
// bookmarks of initial events, create, update, all types of patch, delete, deletecollection; JSON, YAML
// and, for built-in kinds, protobuf; Tables with the columns and cells of kube-apiserver, and
// PartialObjectMetadata; periodic bookmarks; fieldValidation; definitions, whose objects are pruned,
// filled in with defaults and validated by their schema, rules in CEL included, as
// k8s.io/apiextensions-apiserver does it, and conversion webhooks; admission webhooks, as
// the plugins of k8s.io/apiserver call them, over the network or handed to a handler of the test
// ([Options].Webhooks), and admission policies, as k8s.io/apiserver decides about them and checks the types
// of their expressions; their audit annotations are discarded; both also about Scales, Bindings, Evictions and TokenRequests; the admission plugin
// ServiceAccount by [Options].ServiceAccounts; managedFields from creation on; dry runs;
// the subresources status, scale, binding, eviction, finalize and approval; log, exec, attach and portforward, see below;
// reviews of access; tokens of ServiceAccounts; certificates for CertificateSigningRequests; addresses of ServiceCIDRs; RBAC by [Options].RBAC, with the checks of those who grant rights,
// impersonation as since 1.36, and aggregated ClusterRoles.
//
// A hundred kubectl commands print what they print with a kube-apiserver, but for those listed in
// internal/dev/e2e/testdata/kubectl/differences.txt. Which conformance tests of Kubernetes a lab passes
// through this server is listed in internal/dev/e2e/conformance/testdata, and which integration tests of
// controller-runtime and of two operators fail or vary, and why, in internal/dev/e2e/suites/testdata.
//
// MISSING.md of module stage/lab lists what a kube-apiserver has in addition; a request for it is
// refused. The first write of an object that asks for a feature without an effect is answered with a header
// Warning, once for each kind and field, see FEATURES.md. HorizontalPodAutoscalers of autoscaling/v1 show the CPU alone. The lab's scheduler owns
// spec.nodeName of what it binds, which has no owner after a Binding.
package apiserver
