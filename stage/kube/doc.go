// Package kube connects the packages of stagecraft to a Kubernetes cluster. Its [Cluster] is a
// transport over client-go's dynamic client, with the methods of stage/memory.
//
// # Terminology
//
// A [Cluster] is a client and a mapper. The mapper has the resource and the scope of each kind. A
// kind is known if the server had it at the last discovery.
//
// # Usage
//
//	config.QPS = -1                       // or a rate that the server can handle
//	cluster, err := kube.NewForConfig(config)
//	…
//	err = player.Play(ctx, set, cluster, player.Options{})
//
// [Open] takes options. [New] takes any dynamic client, including client-go's fake client. Objects
// are *unstructured.Unstructured, and results belong to the caller. Errors are those of the API
// server; use the functions of apimachinery's api/errors.
//
// A Cluster that [Open] made sends each write once, and opens each watch once. The caller tries
// again, as player.Player does, because only it knows whether a write may be done twice. Client-go
// sends a read again if the server answers with Retry-After. A Cluster of [New] sends what its client
// sends: client-go's own dynamic client also sends writes again.
//
// # Kinds
//
// A request for an unknown kind gets NotFound. A Cluster discovers the kinds of the server again
// when a request is for an unknown kind, and when the server answers that it does not have a known
// kind. It does so at most every two seconds. So a new definition is found within two seconds, and
// a program that repeatedly asks for an unknown kind causes one discovery every two seconds.
//
// # Metadata
//
// Players see objects without managedFields and without kubectl's last applied configuration,
// because they use [Cluster.Share]. [Options] can keep these fields. Equal parts, such as parts of
// the Pods of one Deployment, are stored once. Patches work as usual, because a field that a patch
// does not name stays. To read objects and write them back as a whole, use the Cluster itself.
//
// # Events
//
// The Events of stagecraft are those with its reportingComponent. A Cluster writes them to
// events.k8s.io/v1, if the server has that API. It counts repeated Events: if an Event has the same
// object, type, reason and note as an Event less than six minutes before, the Cluster does not
// create it. It increments series.count of the first Event. A Cluster remembers the 4096 most
// recent Events for that.
//
// Each occurrence has a name. If the last recorded occurrence has the same name, the answer is
// AlreadyExists. An occurrence whose answer was lost keeps its number, also if others come before it
// is sent again, so it is not counted twice. Reasons are cut at 128 bytes, notes at
// 1024. All other Events are created unchanged.
//
// # Users
//
// [Cluster.As] makes one client for each user, which shares the connections and the rate limit of
// the Cluster.
//
// # Concurrency
//
// A Cluster is safe for concurrent use if its client and mapper are; client-go's are.
//
// # Connections
//
// Reads and watches share one HTTP/2 connection, if the server supports it. Writes use HTTP/1.1,
// with one connection for each write under way; up to 25 connections stay open for further writes.
// This costs the server and this process less, and watch events do not wait behind the answers of
// writes. If the TLS configuration names protocols (NextProtos), all requests use these instead.
//
// A player that brings 500 Pods a second to Running uses a fifth of a processor. With GOMAXPROCS=1,
// which Go does not choose by itself on a machine with more processors, it uses a seventh less than
// with GOMAXPROCS=2: see internal/dev/e2e/cluster.
//
// # Protobuf
//
// Objects of built-in kinds are read from protobuf, which has half the bytes of JSON and costs the
// server less. Protobuf has no field names. If the server is newer than the module k8s.io/api in
// this program, an answer can have a field that cannot be read. No such field is lost: the Cluster
// sends this request, and all further requests for the kind, for JSON:
//
//	get, list, dry run                      | the request is sent again
//	create, update, patch                   | the object is read again; others may have changed it meanwhile
//	watch                                   | ends with an Error event; the next one is JSON
//
// # Compatibility
//
// The clients of this package read the same objects as client-go's codec, which takes several times
// as long; tests compare the two. Answers are not compressed if the server is on this machine.
// Custom resources do not accept strategic merge patches.
package kube
