// Package fit derives Stages from a log of what really happened: how long objects stayed in each
// state becomes the delay of a Stage.
//
// # Terminology
//
// A step is a record of the log that changes the state of an object, or says that a Stage was played
// on it. A transition is all steps of a kind from one state to another by the same Stage, if the log
// names one. Its samples are the times from the step before to the step, over all objects. A sample
// is cut off if the log ends before the step.
//
// # Usage
//
//	result, err := fit.Fit(record.ReadJSONL("cluster.jsonl", file), fit.Options{})
//	if err != nil {
//		return err // cluster.jsonl:17: …
//	}
//	fmt.Print(result)             // samples, quantiles and distance of each transition
//	text, err := result.YAML()    // for stage.Load, with Extensions in the Options of stage.Compile
//
// examples/cluster records a cluster: go run . -kubeconfig FILE -record cluster.jsonl.
//
// # Semantics
//
// Two thirds of the samples of a transition give the quantiles of its delay, in the order of the log
// two of three; the others are held out, and tell how well the quantiles fit. The measure is the
// Kolmogorov-Smirnov distance: the greatest difference of the two cumulative distributions, 0 at
// best, 1 at worst. [Transition.Chance] is what it exceeds with a chance of 5 % if both are drawn
// from the same distribution.
//
// The delay is written as quantiles in the annotation [delay.ExtensionAnnotation]. For kwok, which ignores
// it, there is a jitter: any delay up to twice the mean. Of several transitions from one state, each
// is chosen as often as in the log.
//
// A transition is named, and not fitted, if it has fewer samples than Options.Least, or if it is not
// for a Stage: a scheduler gives Pods a node, users delete objects, controllers complete Jobs.
//
// Where Options.Stages has a Stage that the log names, its delay is replaced. Else Stages are made:
// for Pods with the states of [record.StateOf]; for other kinds with status.phase, or with the
// condition Ready.
//
// # Limits
//
// Samples that are cut off are counted, not used: where many are, the delays are too short. A log of
// a cluster that had objects already does not tell when they entered their first state. Delays are
// independent of each other and of the object: that all Pods of one node are slow together, or that
// large images take longer, is lost.
//
// # Determinism
//
// The same log gives the same result, byte for byte.
//
// # Concurrency
//
// Fit is safe for concurrent use. A Result is plain data.
package fit
