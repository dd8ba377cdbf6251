// Package backup takes the objects of a cluster out, and brings them into a cluster in memory, where
// they live on: with their uids, resourceVersions, owners, managedFields and status.
//
// # Terminology
//
// A [Backup] is the objects of a cluster at one moment. To restore it means to make a cluster in
// memory that has these objects. An [Omission] is an object of a file that the Backup leaves out.
//
// # Usage
//
// What would a cluster do next if a zone failed? A lab that goes on from it shows it:
//
//	b, err := backup.From(ctx, cluster, backup.Options{}) // of package stage/kube; or backup.ReadFiles
//	lab := labtest.New(t, labtest.Options{Backup: b})
//	…
//
// The command stagecraft backup writes such a file. So does kubectl:
//
//	kubectl get customresourcedefinitions -o json > crds.json
//	kubectl get $(kubectl api-resources --verbs=list -o name | paste -sd,) -A -o json > all.json
//
// A cluster in memory, to a file and back:
//
//	err := backup.Of(lab.Cluster()).Write(file)
//	b, err := backup.Read("lab.jsonl", file, backup.Options{})
//	cluster, err := b.Cluster(memory.Options{})
//
// # Format
//
// Write makes JSON Lines: a line about the Backup, and then a line for each object, ordered by group,
// kind, namespace and name. The same objects make the same bytes.
//
//	{"apiVersion":"stagecraft-go.github.io/v1","kind":"Backup","objects":2,"resourceVersion":"41","time":"2026-01-01T00:00:00Z"}
//	{"apiVersion":"v1","kind":"Namespace",…}
//	{"apiVersion":"v1","kind":"Pod",…}
//
// Read reads this format, and what kubectl get prints with -o json or -o yaml: any number of objects
// and Lists. JSON takes a fraction of the time of YAML. An object that the files have several times,
// perhaps in several groups as Events are, comes once, in its latest resourceVersion.
//
// The values of Secrets are kept, unless Options.BlankSecrets is set.
//
// # What is left out
//
// A file may have objects that a cluster in memory does not store, such as PodMetrics, or custom
// objects without their definition. [Backup.Omissions] names them with their places and the reason.
// What is stored but has no effect in a lab, the lab itself reports, see labtest.Lab.NotModelled.
//
// # Concurrency
//
// A Backup must not be changed while others use it; otherwise it is safe for concurrent use.
package backup
