// Package apiserver serves an in-memory cluster over the HTTP API of kube-apiserver, so that any
// client can use it: client-go, informers, managers of controller-runtime, programs in other
// languages. Usually the cluster is that of a lab, in which workload controllers, a scheduler and
// kubelets react to what clients write.
//
// # Usage
//
//	lab := stagetest.New(t, stagetest.LabOptions{})
//	config := apiserver.Start(t, lab.Cluster(), apiserver.Options{}) // nothing listens, no program is started
//	manager, err := ctrl.NewManager(config, ctrl.Options{…})         // unmodified
//
// [Listen] serves on loopback, with TLS and a token, for programs; [New] is the handler itself.
//
// # Time
//
// The server has no time of its own but for watches that end. In a testing/synctest bubble all of
// it is virtual: managers with caches, leader election and backoff take ten minutes of it in
// milliseconds. The lab follows the bubble's clock with
//
//	stagetest.LabOptions{Start: time.Now(), Sync: func(d time.Duration) { time.Sleep(d); synctest.Wait() }}
//
// Virtual time stands still while a goroutine of the bubble waits for something outside of it: a
// channel that was made outside, such as wait.NeverStop, is one. Everything that runs in the bubble
// has to end with the test: Start ends the server after the functions that were given to t.Cleanup
// later, so register those that stop managers and informers after it. The rate limits of client-go
// cost virtual time; the configurations of this package have none (QPS is -1). controller-runtime
// acts a little after the start, so let time pass before you look.
//
// # Concurrency
//
// A Server is safe for concurrent use. Requests are answered by the goroutine that net/http has for
// them, watches too; a slow reader delays nobody else.
//
// # Compatibility
//
// It answers as kube-apiserver 1.36 and says so in /version. The scenarios of internal/dev/contract
// pass over HTTP here and there, and the answers of a table of raw requests are equal (both in
// internal/dev/e2e). Objects are those of package memory, so its differences are differences here.
//
// What is served: discovery (aggregated and not), /version and health; get, list with pages and
// selectors, watch with bookmarks of initial events, create, update, all types of patch, delete,
// deletecollection; JSON, YAML and, for built-in kinds, protobuf; Tables and
// PartialObjectMetadata; fieldValidation of built-in kinds; dry runs; the subresources status,
// scale, binding, eviction, finalize, and log, which is empty; reviews of access, which allow
// everything.
//
// What is not served is refused: the subresources attach, exec, portforward, proxy,
// ephemeralcontainers, resize, token and approval; autoscaling/v1 and what package memory does not
// store. Not there yet: defaults and validation of built-in kinds, /openapi, schemas of custom
// kinds, admission, authorisation, periodic bookmarks.
package apiserver
