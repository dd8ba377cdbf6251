// Package kube is a Kubernetes cluster as the packages of stagecraft see one: a transport over
// client-go's dynamic client, with the methods of stage/memory.
//
// # Terminology
//
// A [Cluster] is a client together with a mapper, which knows the resource and the scope of each
// kind. A kind is known if the server had it at the last discovery.
//
// # Usage
//
//	config.QPS = -1                       // or what the server stands
//	cluster, err := kube.NewForConfig(config)
//	…
//	err = player.Play(ctx, set, cluster, player.Options{})
//
// [Open] takes options. [New] takes any dynamic client, client-go's fake one too. Objects are
// *unstructured.Unstructured, and results belong to the caller. Errors are those of the API server,
// for the functions of apimachinery's api/errors.
//
// A Cluster sends each request once and opens each watch once. Whoever calls it tries again:
// player.Player does.
//
// # Kinds
//
// A kind that is not known is NotFound. The server is asked anew what it has when such a kind is
// asked for, and when it says that it does not have a kind which was known, but at most every two
// seconds: that is how long a definition takes to be seen, and what an unknown kind costs that is
// asked for all the time.
//
// # Metadata
//
// Players see objects without managedFields and without kubectl's last applied configuration,
// unless [Options] keep them: through [Cluster.Share], which players ask for. Parts that are equal,
// as in Pods of one Deployment, are there once. Patches are not concerned, since a field that a
// patch does not name stays. Who reads objects to write them back as a whole uses the Cluster
// itself.
//
// # Events
//
// The Events of stagecraft, which are those whose reportingComponent says so, go to
// events.k8s.io/v1, where the server has it, and are counted: what regards the same object, in the
// same type, reason and note, less than six minutes after the last time, is no Event of its own,
// but adds one to series.count of the first. 4096 Events are maxRecentEvents, the least recent are
// forgotten. The names of occurrences tell them apart: one that was recorded under the same name
// last is AlreadyExists, and never counted twice. Reasons are cut at 128 bytes, notes at 1024. All
// other Events are created as they are.
//
// # Users
//
// [Cluster.As] makes one client a user, with the connections and the limit of the Cluster.
//
// # Concurrency
//
// A Cluster is safe for concurrent use if its client and mapper are; client-go's are.
//
// # Connections
//
// Reads and watches share a connection of HTTP/2, where the server has that. Writes go over
// HTTP/1.1, as many connections as there are writes under way, of which up to 25 are kept for the
// next ones: they need less of the server and of this process, and no watch event waits behind
// their answers. A configuration whose TLS names protocols (NextProtos) has its way instead.
//
// A player that brings 500 Pods a second to Running takes a fifth of a processor. With
// GOMAXPROCS=1, which Go never chooses by itself where there are more, it takes a seventh less than
// with two: see internal/dev/e2e/cluster.
//
// # Protobuf
//
// Objects of built-in kinds are read from protobuf, which has half of the bytes of JSON and costs
// the server less. Protobuf has no names: a field that the Go types of this program do not have,
// because the server is of a later version than the module k8s.io/api, cannot be read from it. No
// such field is lost. The first answer that has one is asked for again in JSON, and so is every
// answer of that kind from then on:
//
//	get, list, dry run                      | the request is sent again
//	create, update, patch                   | the object is read again; others may have changed it meanwhile
//	watch                                   | ends with an Error event; the next one is JSON
//
// # Compatibility
//
// What is read by the clients that this package makes is the same as with client-go's codec, which
// takes several times as long; tests compare the two. On loopback nothing is compressed. Custom
// resources take no strategic merge patches.
package kube
