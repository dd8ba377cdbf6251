// Package audit says what tools that wait for objects will see of a kind, and what its controller
// could do better: whether the kind is "kstatus compatible".
//
// # Usage
//
//	report := audit.Kind(definition, recorded)
//	fmt.Println(report) // Markdown, to paste into an issue of the project
//
// The definition is a CustomResourceDefinition. The recorded objects are forms of objects of the kind
// in the order of time, as `kubectl get --watch -o yaml` prints them or as a lab with the real
// controller stores them: from the creation until an object is ready, best also from a change of the
// spec until it is ready again.
//
// # Findings
//
// A finding that is [Must] makes tools wrong: they go on too early, or wait forever. One that is
// [Should] leaves them to guess. Each has the fix. What recorded objects do not show is not a finding:
// a report on a definition alone says less.
//
// # Determinism
//
// A report is a function of its arguments. Times are those of the recorded objects.
//
// # Concurrency
//
// All functions are safe for concurrent use.
package audit
