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
//   - A stage owns the BindingPolicies that the status lists for it. It is served where one of them
//     places the workload, and passed once it has succeeded, was skipped, or has failed and the
//     rollout went on.
//   - A revision is a version of what the policy places where: spec.downsync, and the names and
//     selectors of the stages; with updates: Staged, also a version of the workload.
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
//	d := policies[0].Decide(stored.Status, world)
//	// write d.Status; then make d.Place; then remove d.Remove; decide again after d.RecheckAfter
//
// See [Decision] for what to write under which resourceVersion.
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
// no errors in the columns that the condition reads; and every destination but maxSilent has
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
// Objects of kinds that have no status, such as ConfigMaps, are placed, and nobody ever reports them:
// real KubeStellar has a CombinedStatus for them, in which each returned status is empty. No report
// is waited for; a filter keeps the condition away from them.
//
// With onChange: Restart, an edit of what is placed where begins with the first stage again. Under
// retention Move that moves the workload back: once the clusters of the first stage have it, it is
// removed from those of the stage that had it. Where that must not happen, use Keep.
//
// Soak and progressDeadlineSeconds are those of each batch: ten batches that soak for 30m take five
// hours. With batchSoak and stageDeadlineSeconds there are a soak and a deadline of the whole stage.
// With perCluster each cluster is a batch of its own and several are under way at once: see
// [v1alpha1.PerCluster].
//
// # Invariants
//
// Whatever users edit, clusters do, and players read late, several at once, interrupted between any
// two writes, the following holds. TestHistories checks it over random histories.
//
//	(a) No stage is entered before every earlier one was passed, unless the status was lost: then
//	    the rollout goes on from the last stage that has a BindingPolicy. A stage that an edit
//	    inserts or moves before the active one is passed first; later stages keep what they have,
//	    and are passed again. To start a stage while an earlier one has failed takes onFailure:
//	    Continue, and to leave one out skipIfEmpty.
//	(b) A cluster that the active stage serves, or under retention Keep a passed one, and that the
//	    stage still selects, is never without the workload, a rollback apart. A BindingPolicy is
//	    removed only after everything that must exist was observed in its present version with a
//	    Binding that lists every cluster that the old one serves and a stage still selects.
//	(c) A rollback ends: the stage is not entered again until the spec changes.
//	(d) When conditions hold and nobody edits, the rollout comes to its end, each cluster that
//	    should have the workload has it, and nothing is left over.
//	(e) Every wait has a reason: the object, the cluster and the value that was seen, or the
//	    BindingPolicy, the time or the annotation that is awaited.
//
// A decision is to be carried out in this order: the status, then BindingPolicies, then removals.
// Each BindingPolicy carries the version that the status has for it, in an annotation. So one that
// another program has read long ago, or one from before it was removed, is recognised, and a late
// write of another program fails. After a loss of the status, what is still wanted gets a new
// version first.
//
// A removal follows from what was read. These changes after that are not seen by one that is already
// decided, and (b) does not hold for them until the next decision: a cluster gets other labels, so
// that a stage selects it; somebody else deletes the BindingPolicy that serves it as well; the status
// is lost, and the recovered one selects the cluster in a BindingPolicy of another name.
//
// A clock that is wrong for one decision does not last, but a soak or a deadline may end by it.
//
// # Staged updates
//
// Without spec.updates a new version of the workload reaches every cluster that has the workload at
// once: KubeStellar sends the object on the hub to all destinations. With updates: Staged, the
// BindingPolicies of all clusters but those whose turn it is have createOnly, with which
// KubeStellar creates objects and never updates them. A new resourceVersion in a Binding makes the
// rollout begin again with the first stage; a cluster stays at the version that it has until its
// stage, batch or turn comes, and createOnly is taken away until its condition holds. If a stage
// fails and the rollout goes on, those of its clusters whose turn had not come stay at the version
// that they have. If the status is lost, nobody knows any more which version the clusters have, and
// all stages are passed again.
//
// The hub holds one version of an object, so KubeStellar's model forbids the following:
//
//   - An old version cannot be placed any more: a cluster that joins a stage meanwhile, or that
//     loses an object, receives the new one at once. With maxConcurrency or perCluster a cluster
//     that joins receives nothing before the turn of its stage. To go back, apply the old text
//     again, which is one more version: stages that did not have the new one yet change nothing.
//   - A rollback would delete the workload from the clusters of the failed stage or batch, the
//     version that ran there before included. So Compile refuses onFailure Rollback, RollbackAll
//     and RollbackBatch: use Pause.
//   - Objects that are added to or removed from the workload come and go everywhere at once.
//   - A version that is applied while clusters are being updated reaches these clusters at once, and
//     then begins with the first stage. These clusters report no more in their turn, so there a
//     status from before the turn counts, unless its BoundAt says that it is too old. If it came and went
//     between two reads of a Binding, nobody has seen that: the stage waits for the next status of
//     these clusters, and names them.
//   - A write of labels or annotations of an object is a new version, too. Status that is returned
//     into objects would be one, so wantSingletonReportedState is refused.
//   - That clusters have the new version is known only from reports: without them a stage passes on
//     the status of the old one, and [Policy.Explain] says so.
//
// In plain Open Cluster Management each cluster has a ManifestWork with its own copy of the objects:
// an old version stays where its ManifestWork is not written. A ManifestWorkReplicaSet with
// placementRefs[].rolloutStrategy (type Progressive, with mandatoryDecisionGroups, maxConcurrency,
// minSuccessTime, progressDeadline and maxFailures) updates them group by group; a rollback writes
// the old template. The fields of perCluster and maxFailures mean the same here.
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
