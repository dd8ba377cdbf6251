// Package fit derives Stages from a log of a real run: the time that objects stayed in a state
// becomes the delay of a Stage.
//
// # Terminology
//
// A step is a record that changes the state of an object, or says that a Stage was played on it. A
// transition is all steps of a kind from one state to another. If the log names Stages, it has only
// the steps of one Stage. Its samples are the times between the previous step of the object and
// this step, over all objects. A sample is cut off if the log ends before the step.
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
// The command stagecraft records a cluster: stagecraft record --kubeconfig FILE cluster.jsonl. It also fits:
// stagecraft fit cluster.jsonl.
//
// # Semantics
//
// Two thirds of the samples of a transition give the quantiles of its delay: two of every three, in
// the order of the log. The others are held out, and show how well the quantiles fit. The measure
// is the Kolmogorov-Smirnov distance: the greatest difference of the two cumulative distributions,
// 0 at best, 1 at worst. If both are drawn from the same distribution, the distance exceeds
// [Transition.Chance] with a probability of 5 %.
//
// The delay is written as quantiles in the annotation [delay.ExtensionAnnotation]. kwok ignores the
// annotation, so the Stage also has a jitter for kwok: any delay up to twice the mean. If a state
// has several transitions, each is chosen as often as in the log.
//
// A transition is named, and not fitted, if it has fewer samples than Options.Least. The same
// applies to a transition that is not for a Stage: a scheduler gives Pods a node, users delete
// objects, controllers complete Jobs.
//
// Where Options.Stages has a Stage that the log names, its delay is replaced. Else Stages are made:
// for Pods with the states of [record.StateOf]; for other kinds with status.phase, or with the
// condition Ready.
//
// # Limits
//
// Samples that are cut off are counted, but not used. If many are cut off, the delays are too
// short. If a cluster had objects before the log began, the log does not say when they entered
// their first state. Delays are independent of each other and of the object. So it is lost that all
// Pods of one node are slow together, or that large images take longer.
//
// # Determinism
//
// The same log gives the same result, byte for byte.
//
// # Concurrency
//
// Fit is safe for concurrent use. A Result is plain data.
package fit
