// Package staged decides how a StagedBindingPolicy places a workload on one group of clusters after
// another: which BindingPolicies must exist now, which are no longer needed, and what the rollout
// waits for. It is pure: data in, data out. Package staged/player carries the decisions out on a
// hub.
//
// # Terminology
//
//   - A Stage is a group of clusters and what must hold there before the next stage. It has one
//     BindingPolicy, named <policy>.stage.<stage>, or one for each batch,
//     <policy>.stage.<stage>.<n>.
//   - A Filter chooses the objects that a Condition is evaluated for; the stage places all objects.
//     A Condition is evaluated for the CombinedStatus of every object that the filter keeps.
//   - Downsync, Binding, StatusCollector and CombinedStatus are KubeStellar's: see packages
//     staged/control and staged/kubestellar.
//   - A policy is a StagedBindingPolicy. A BindingPolicy is always called by its full name.
//   - A [Source] is StagedBindingPolicies and the text they came from; a [Policy] is a compiled
//     one.
//   - An [Observation] is what was observed around a policy at one moment; a [Decision] is what
//     follows from it.
//   - [Satisfaction] is the result of a condition or guard: satisfied, not satisfied, or unknown.
//     Only satisfied lets a stage pass.
//
// # Usage
//
// A controller in any framework does this:
//
//	policies, err := staged.Compile(staged.Options{}, staged.Parse("policy.yaml", text))
//	if err != nil {
//		return err // policy.yaml:14:18: policy "nginx": spec.stages[0].condition: undeclared reference to 'ob'
//	}
//	d := policies[0].Decide(stored.Status, observation, time.Now())
//	// write d.Status; then create or update d.Ensure; then delete d.Remove; decide again after d.RecheckAfter
//
// With many objects, use a [Rollout]: it is shown single changes, and the cost of a decision grows
// with what has changed.
//
// # Semantics
//
// One decision leaves the active stage and starts the next if all of this holds: the condition is
// true for the CombinedStatus of every object that the filter keeps, and that CombinedStatus
// belongs to the present BindingPolicy; the guards hold; both have held for the soak; a person has
// approved, where approval is asked for; and the next stage may start: it is not paused, it is
// approved, and its windows are open.
//
// The guards are: the filter keeps at least one object; the Bindings have destinations; there are
// no errors in the columns that the condition reads; and every destination but maxFailures has
// reported, no earlier than the present version of the workload was bound. The last guard needs to
// know when clusters report. Where that is not known, it is left out, and [Policy.Explain] says so.
//
// A condition sees these variables and functions:
//
//   - obj and combinedStatus, which are the same: a dynamic map; reading an absent key is an error;
//   - num(column): the value in a table of one row, as a double that compares and computes with
//     integers;
//   - cell(collector, column): the value in a table of one row, of any type;
//   - destinations: the names of the clusters;
//   - reported: how many destinations have reported the object, if that is known;
//   - now, and since: the time since the stage, or its latest batch, started.
//
// A condition that reads now or since is evaluated every ten seconds.
//
// A decision is to be carried out in this order: the status, then new BindingPolicies, then
// removals. A BindingPolicy is removed only after the Binding of the new one was observed with a
// destination. So an interruption at any point loses nothing: there is always a BindingPolicy, and
// the stored status says how to go on.
//
// # Determinism
//
// A decision is a function of the policy, the stored status, the observation and the time. Deciding
// again changes nothing. Times in a status are whole seconds, rounded up: soaks, deadlines and
// since, which are counted from them, are up to a second longer than asked for and never shorter.
//
// # Concurrency
//
// Sources, Policies and Expressions are immutable and safe for concurrent use. A Rollout must not
// be used from several goroutines at once. Arguments are not changed.
//
// # Compatibility
//
// Policies for the workload stager work unchanged and mean the same. Where its behaviour is a
// fault, ours differs on purpose:
//
//	the workload stager does                          | we do                             | test
//	--------------------------------------------------+-----------------------------------+------------------------------
//	stalls after a restart or an edit of the spec     | go on; update the BindingPolicy   | TestFaultsOfTheWorkloadStager
//	deletes the last policy and panics, if satisfied  | end there: Succeeded              | TestFaultsOfTheWorkloadStager
//	panics without stages                             | refuse them                       | TestFaultsAreReportedTogether
//	deletes the old policy, then creates the next     | the other way round               | TestWorkloadMovesFromStageToStage
//	gives the version for the group of a clause       | the group                         | TestFaultsOfTheWorkloadStager
//	drops an object whose filter fails                | wait                              | TestFaultsOfTheWorkloadStager
//	waits for ever on names that make no label value  | refuse them                       | TestFaultsAreReportedTogether
//	takes status from before the new workload         | wait for newer, if that is known  | TestFaultsOfTheWorkloadStager
//	starts over if the active stage is not in the spec| stall, and say so                 | TestFaultsOfTheWorkloadStager
//	knows combinedStatus, not obj as documented       | both                              | TestTraces/condition-root-obj
//	compiles an expression at every evaluation        | once                              | BenchmarkCondition
package staged
