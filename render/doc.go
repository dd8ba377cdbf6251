// Package render turns the templates of kwok Stages and an object into JSON values: text/template,
// then YAML 1.1 to JSON as sigs.k8s.io/yaml does it.
//
// # Terminology
//
// A [Template] is compiled text. A rendering is one execution of it over an [Input]. An [Env]
// answers what a template asks about its surroundings: the addresses of nodes and pods. A [Network]
// is an Env that hands out addresses.
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
// The functions of text/template; those of kwok (Quote, Now, StartTime, YAML, Version,
// NodeConditions, NodeIP, NodeName, NodePort, NodeIPWith, NodeIPsWith, PodIP, PodIPWith,
// PodIPsWith), in every template whatever its kind; and those of sprig that compute on their
// arguments alone. Left out of sprig: env, expandenv, getHostByName, and what makes or uses keys,
// certificates and passwords. Those of sprig that read the clock, chance or the zone of the machine
// read Input.Now, Input.Seed and UTC instead; zone names are looked up in the time zone database.
//
// # Determinism
//
// The same template, options and input give the same text, byte for byte, given an Env that does
// so; keys and values of maps come in the order of the keys. The object is never modified: a
// template that uses set, unset or merge works on a copy.
//
// # Limits
//
// A rendering ends after Options.Steps units of work and never holds much more memory than a small
// multiple of them and of Options.Output. Funcs of the user are not counted.
//
// # How it works
//
// Compile parses the text with text/template's parser and puts counters into the tree
// (counters.go). The compiler makes closures of the tree: its actions (compile.go), pipelines
// (pipeline.go) and calls of functions (call.go, native.go). A rendering runs these closures. Where
// they are not certain what text/template would do, they give up, and text/template executes the
// same tree from the beginning (state.go): it is the reference, and the only one that makes errors.
// Value then reads the text with internal/position.
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
