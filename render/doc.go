// Package render turns the templates of kwok Stages and an object into JSON values: text/template,
// then YAML 1.1 to JSON as sigs.k8s.io/yaml does it.
//
// # Terminology
//
// A [Template] is compiled text. A rendering is one execution of a Template with an [Input]. An
// [Env] gives a template the addresses of nodes and pods. A [Network] is an Env that hands out
// addresses.
//
// # Usage
//
//	t, err := render.Compile(patch.Template, render.Options{})
//	…
//	network := render.NewNetwork(render.NetworkOptions{})
//	for obj := range objects {
//		network.Observe(obj)
//		value, ok, err := t.Value(render.Input{Object: obj, Now: now, Seed: seed, Env: network})
//		…
//	}
//
// # Functions
//
// A template can call:
//
//   - the functions of text/template
//   - the functions of kwok, in templates for every kind: Quote, Now, StartTime, YAML, Version,
//     NodeConditions, NodeIP, NodeName, NodePort, NodeIPWith, NodeIPsWith, PodIP, PodIPWith,
//     PodIPsWith
//   - the functions of sprig, except env, expandenv, getHostByName, and functions that make or use
//     keys, certificates and passwords
//
// Functions of sprig that read the clock, random numbers or the time zone of the machine read
// Input.Now, Input.Seed and UTC instead. Zone names are looked up in the time zone database.
//
// # Determinism
//
// The same template, options and input give the same text, byte for byte, if the Env gives the same
// addresses. Keys and values of maps come in the order of the keys. The object is never modified: a
// template that uses set, unset or merge works on a copy.
//
// # Limits
//
// A rendering ends after Options.Steps units of work. Its memory is at most about a small multiple
// of Options.Steps and Options.Output. Options.Funcs are not counted.
//
// # How it works
//
// Compile parses the text with text/template's parser and puts counters into the tree
// (counters.go). The compiler turns the tree into closures for its actions (compile.go), pipelines
// (pipeline.go) and function calls (call.go, native.go). A rendering runs these closures. The
// closures give up if text/template might behave in another way. Then text/template executes the
// same tree from the beginning (state.go). text/template is the reference, and only it returns
// errors. Value then reads the text with internal/position.
//
// # Concurrency
//
// A Template and a Network are safe for concurrent use; the other types are plain data.
//
// # Compatibility
//
//	kwok does                                   we do                                     pinned by
//	numbers are json.Number strings             numbers are int64 and float64             TestNumbers
//	an int argument takes no number of the      it takes any whole number                 TestNumbers
//	  object
//	Now is local wall clock time                Input.Now in UTC                          TestFunctions
//	an empty text is null                       no value, ok is false                     TestValue
//	PodIP draws a new address on every call     the address of the pod that is rendered   TestNetwork
//	an address may leave its CIDR, and may be   neither                                   TestNetworkProperties
//	  given twice
//	an unknown node's pods get the node's IP    an address of the default CIDR            TestNetwork
//	two YAML keys with one spelling: either     an error                                  TestValueFaults
//	templates run until they end                Steps and Output                          TestHostile
package render
