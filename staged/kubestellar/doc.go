// Package kubestellar computes what KubeStellar's controllers compute, purely: which objects and
// clusters a BindingPolicy selects, and the CombinedStatus of an object from what clusters
// returned. With it a StagedBindingPolicy can be tested end to end without a cluster.
//
// # Terminology
//
//   - A Binding is the objects and clusters that a BindingPolicy selects; [Resolve] computes it.
//   - A [Collector] is a compiled StatusCollector.
//   - A [Report] is what one cluster returned about an object. A destination without one has not
//     reported.
//   - A [Mode] is [Upstream], which agrees with KubeStellar v0.30 even where that seems wrong, or
//     [Strict], which does what KubeStellar's documents say.
//
// # Usage
//
//	binding, err := kubestellar.Resolve(policy, inventory)
//	collector, err := kubestellar.Compile(spec)
//	status, ok := kubestellar.Combine(kubestellar.Upstream, kubestellar.Input{
//		Binding: binding, Object: deployment, Resource: "deployments",
//		Collectors: map[string]*kubestellar.Collector{"ready": collector},
//		Reports: map[string]kubestellar.Report{"cluster1": {Status: status, LastUpdate: now}},
//	})
//
// # Determinism
//
// Every result is a function of the arguments. Rows are sorted by the names of the clusters, where
// KubeStellar has the order of a Go map.
//
// # Concurrency
//
// A Collector is immutable and safe for concurrent use. Arguments are not changed.
//
// # Compatibility
//
//	KubeStellar does                              | Strict does                    | test
//	----------------------------------------------+--------------------------------+--------------------------
//	never applies limit                           | applies it                     | TestStrict/limit
//	takes a filter that is null for an error      | takes it for false             | TestStrict/null-filter
//	keeps a row whose filter fails                | drops and reports it           | TestStrict/filter-error
//	puts the error of a select into its cell      | null there, and reports it     | TestStrict/select-error
//	calls lists and null Object                   | Array and Null                 | TestStrict/types
//	panics on a list or map in groupBy            | groups by it                   | TestStrict/composite-keys
//	groups 1 and 1.0 apart                        | together                       | TestStrict/equal-numbers
//
// In two cases Upstream does not do what KubeStellar does: where KubeStellar panics on a list or
// map in groupBy, Upstream reports an error; where KubeStellar's search for the variables of an
// expression never ends, Upstream compiles the expression.
package kubestellar
