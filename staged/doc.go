// Package staged decides how a StagedBindingPolicy places a workload on one group of clusters after another: which BindingPolicies must
// exist now, which may go, and what the rollout waits for. It decides purely; [Player] carries it out.
//
// # Terminology
//
//   - A Stage is a group of clusters and what must hold there before the next stage. It has one BindingPolicy, named
//     <policy>.stage.<stage>, or one a batch, <policy>.stage.<stage>.<n>.
//   - A Filter chooses the objects that a Condition looks at; the stage places all of them. A Condition is asked of the CombinedStatus of every
//     object the filter keeps.
//   - Downsync, Binding, StatusCollector and CombinedStatus are KubeStellar's: see packages staged/control and staged/kubestellar.
//   - A [Source] is StagedBindingPolicies and where they came from; a [Policy] is compiled from one.
//   - An [Observation] is what is known around a policy at one moment; a [Decision] is what follows from it.
//   - A [Verdict] is yes, no, or that it cannot be told. Only yes lets a stage pass.
//
// # Usage
//
// A controller of one's own, in any framework, is this:
//
//	policies, err := staged.Compile(staged.Options{}, staged.Parse("policy.yaml", text))
//	if err != nil {
//		return err // policy.yaml:14:18: policy "nginx": spec.stages[0].condition: undeclared reference to 'ob'
//	}
//	d := policies[0].Decide(stored.Status, seen, time.Now())
//	// store d.Status; then create or update d.Ensure; then delete d.Remove; look again after d.RecheckAfter
//
// Where many objects are watched, a [Rollout] is shown what changes, and decides at a cost that grows with that alone. To carry out all policies of a
// hub until the context ends:
//
//	err := staged.Play(ctx, cluster, staged.PlayerOptions{Events: cluster}) // kubectl describe shows what happens
//
// # Semantics
//
// The active stage is left, and the next started, in one decision, when all of this holds at that moment: every object that the filter keeps
// has a CombinedStatus of this very BindingPolicy for which the condition is true; the guards hold; all that has been so for soak; a person has
// approved, where that is asked for; and the next stage may be started: not paused, approved, within its window.
//
// The guards: some object is kept; the Bindings have destinations; nothing is wrong in the columns that the condition reads; and, if it
// is known when clusters report, every destination but maxFailures has reported, no earlier than the bound version of the workload was bound. Where that is not
// known, the last one is not asked for, and [Policy.Explain] says so.
//
// Conditions see obj (and combinedStatus, the same), a dynamic map in which reading an absent key is an error; num(column), a double that integers may
// be compared and computed with, and cell(collector, column), of any type, the value of a table of one row; destinations, the names of the clusters;
// reported, how many of them reported the object, if that is known; now; and since, the time since the stage, or its latest batch, was started. One that
// reads the time is evaluated every ten seconds.
//
// Next come first the status, then new BindingPolicies, then removals, and a removal only once the Binding of the new one was seen to have a destination.
// So an interruption at any point loses nothing: there is never less than one BindingPolicy, and the stored status tells where to go on.
//
// # Determinism
//
// A decision is a function of the policy, the stored status, the observation and the time. Deciding again changes nothing. Times in a status are whole
// seconds, rounded up: what is counted from them, soaks, deadlines and since, is up to a second longer than asked for and never shorter.
//
// # Concurrency
//
// Sources, Policies and Expressions are immutable and safe for concurrent use. A Rollout belongs to one goroutine. Arguments are only read. A Player
// decides in one goroutine and watches in four or five more; all end with Run.
//
// # Compatibility
//
// Policies for the workload stager work unchanged and mean the same. Where its behaviour is a fault, ours differs on purpose:
//
//	the workload stager does                          | we do                                 | test
//	--------------------------------------------------+---------------------------------------+-------------------------------
//	stalls after a restart or an edit of the spec     | go on; update the BindingPolicy       | TestFaultsOfTheWorkloadStager
//	deletes the last policy and panics, if satisfied  | end there: Succeeded                  | TestFaultsOfTheWorkloadStager
//	panics without stages                             | refuse them                           | TestFaultsAreReportedTogether
//	deletes the old policy, then creates the next     | the other way round                   | TestWorkloadMovesFromStageToStage
//	gives the version for the group of a clause       | the group                             | TestFaultsOfTheWorkloadStager
//	drops an object whose filter fails                | wait                                  | TestFaultsOfTheWorkloadStager
//	waits for ever on names that make no label value  | refuse them                           | TestFaultsAreReportedTogether
//	takes status from before the new workload         | wait for newer, if that is known      | TestFaultsOfTheWorkloadStager
//	starts over if the active stage is not in the spec| stall, and say so                     | TestFaultsOfTheWorkloadStager
//	knows combinedStatus, not obj as documented       | both                                  | TestTraces/condition-root-obj
//	compiles an expression at every evaluation        | once                                  | BenchmarkCondition
package staged
