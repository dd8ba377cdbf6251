// Package features says which fields of built-in kinds the controllers, the scheduler and the
// cluster in memory use. It reports objects that use any other field.
//
// # Terminology
//
// A [Row] is about a field of a kind and all fields below it, or about a kind as a whole. Its
// [State] says whether the field has its effect here. A [Use] is a row that an object uses.
//
// # Usage
//
//	report := features.NewReport(features.Options{Trace: func(u features.Use) { log.Print(u) }})
//	err := report.Watch(sim.On) // of a simulation.Simulation
//	…
//	for _, u := range report.Uses() { … }
//
// A labtest.Lab does this by itself.
//
// # The table
//
// stage/lab/FEATURES.md is generated from [Kinds]. A test in stage/lab/internal/oracle walks the Go
// types of Kubernetes and fails for a field without a row. The tests of controllers compare the
// table with the fields that the controllers read. A field that is read must be Modelled or have a
// reader in [Row.Also]. The field of a row with a test in their package must be read.
//
// Fields that only Nodes act on ([OnNodes]) are neither modelled nor reported, because containers
// do not run here. Package kubelet uses some of them; these are Modelled.
//
// # Concurrency
//
// A Report must not be used from several goroutines at once. Rows must not be changed.
package features
