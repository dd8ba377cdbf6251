// Package staged decides how the workload of a StagedBindingPolicy reaches one group of clusters after
// another: which revision each cluster should have now, what is placed where, what is no longer
// needed, and what the rollout waits for. It is pure: data in, data out. Package staged/player carries
// the decisions out; adapters bring revisions to clusters through KubeStellar
// (staged/bindingpolicy), Open Cluster Management (staged/manifestwork) and Argo CD
// (staged/application).
//
// # Terminology
//
//   - A Stage is a group of clusters and what must hold there before the next stage. It has one
//     placement, named <policy>.stage.<stage>, or one for each batch, <policy>.stage.<stage>.<n>. With
//     KubeStellar a placement is a BindingPolicy.
//   - A Filter chooses the objects that a Condition is evaluated for; the stage places all objects.
//     A Condition is evaluated for the CombinedStatus of every object that the filter keeps.
//   - Downsync, Binding, StatusCollector and CombinedStatus are KubeStellar's: see packages
//     staged/control and staged/kubestellar.
//   - A policy is a StagedBindingPolicy. A BindingPolicy is always called by its full name.
//   - A [Source] is StagedBindingPolicies and the text they came from; a [Policy] is a compiled one.
//   - A [fleet.World] is what was observed around a policy at one moment; a [Decision] is what follows
//     from it.
//   - A revision is the workload as its source holds it at one moment. The plan is what is placed
//     where: spec.downsync, and the names, order and selectors of the stages.
//   - The ledger is a table in the status: for each cluster the revision that it should have, the one
//     that was observed there, and the last one that was good there.
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
// See [Decision] for what to write under which resourceVersion. With KubeStellar objects in hand, use
// bindingpolicy.Rollout, which makes the world of them.
//
// # Semantics
//
// One decision leaves the active stage and starts the next if all of this holds: the condition is
// true for the CombinedStatus of every object that the filter keeps; the guards hold; both have held
// for the soak; a person has approved, where the stage wants that; the objects that are gates
// satisfy their conditions; the transport reports no error; and the next stage may start: it is not
// paused, it is approved, and its windows are open.
//
// The guards are: the filter keeps at least one object; the placements hold clusters; there are no
// errors in the columns that the condition reads; and every cluster but maxSilent has reported. Where
// the transport knows content, every cluster must also have the wanted revision, and its reports must
// be of that revision. Where it is not known who reports, [Policy.Explain] says so.
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
// Objects of kinds that have no status, such as ConfigMaps, are placed, and no report of them is waited
// for. A filter keeps the condition away from them.
//
// With onChange: Restart, an edit of the plan begins with the first stage again. Under retention Move
// that moves the workload back: once the clusters of the first stage have it, it is removed from those
// of the stage that had it. Where that must not happen, use Keep.
//
// # Revisions
//
// The engine never infers from times which revision a cluster has. It records what was observed:
//
//   - applied is the revision that the transport confirmed in a cluster; empty is not known;
//   - a report counts for the wanted revision if its evidence is at least requireEvidence. Exact: the
//     report carries the revision. Ordered: the object is the same in both revisions; or its spec
//     differs and its observedGeneration has risen since before the delivery; or, without one, it was
//     written after the delivery was confirmed. None: any report. Ordered is no proof: an agent that
//     writes a cached old status late, while an autoscaler raises the generation, passes it.
//   - the condition Verified is false while a stage requires None, or gets no more.
//
// Default is Ordered with updates: Staged, and None with AtOnce. The KubeStellar hub alone gives None:
// there updates: Staged is stalled, EvidenceUnavailable, and nothing is changed, until the player may
// read the space of the transport or the policy says requireEvidence: None. Without a collector that
// selects inventory.name, None accepts an aggregate of the clusters that a placement had before.
//
// With AtOnce a new revision goes to all placed clusters at once. Passed stages stay passed; the soak
// and the deadlines of the active stage begin again. With Staged all stages begin again with the new
// revision, and a cluster keeps what it has until its turn comes. Applying the old text again is the
// old revision, so clusters that still have it need nothing.
//
// A failure of a stage with a revision stays until another revision comes, or somebody writes the
// annotation retry.community.kubestellar.io/<stage> with the name of the revision, which the message
// prints. No other edit begins it again.
//
// Rollback gives each cluster of the failed stage the last revision that was good there. Where the
// transport holds one revision only, as KubeStellar does, the clusters are held, the phase is
// RollbackNeeded, and the message names the revision that the source must hold again; once it does,
// these clusters get it before and apart from all stages. The workload is removed only from a cluster
// that had none of it before the policy brought it: the transport saw that, or the stage says
// withdrawFirst: true. Any other cluster keeps what it has. With revisions.restore the source is
// written back to that revision, unless a GitOps tool manages it.
//
// A cluster that joins a passed stage gets the revision of that stage. If that cannot be placed, the
// cluster waits by name (condition CannotDeliver). A held cluster that received something else, because
// it lost an object, is named (event Escaped) and gets a turn.
//
// An approval names the ticket that the status and the message show. The ticket stands for the policy,
// stage, gate, revision, plan and attempt. A value without a ticket counts only at evidence None, and
// only if the annotation was seen absent after the ticket was in the status.
//
// The annotation expedite.community.kubestellar.io: "<revision> <who>" lets a revision skip soaks and
// windows, and nothing else.
//
// # Adoption, deletion and recovery
//
// A BindingPolicy of a former StagedBindingPolicy of the same name is taken over. One of a user is
// taken over if spec.adopt names it: the stage first holds its clusters and objects, so that they keep
// what they have; then the message asks for its removal, or the rollout removes it (release: true).
// The stage starts after that.
//
// With deletionPolicy Orphan, the default with updates: Staged, a deletion leaves the workload. With
// Delete it is removed, the last stage first. In both cases the object has a finalizer, and placements
// have no owner references. Without a deletion policy the garbage collector removes BindingPolicies.
//
// After its status was lost or restored, or the object has another uid, a rollout places and removes
// nothing until it is known what each reachable cluster has, for ten minutes at most (Recovering).
//
// Where somebody else places objects of the workload in a cluster first, the policy places nothing
// there, and is stalled (Conflict). The other goes on with a warning.
//
// A policy can have 5,000 clusters; with more it is stalled (TooManyClusters).
//
// # Time
//
// Soaks and deadlines count time that decisions have witnessed, by the clock of the hub: see
// [fleet.Instant]. A pause between two decisions counts up to a minute, or a twentieth of the limit.
// Time in which no program looked fails nothing and ends no soak. A deadline counts from the delivery;
// deliveryDeadlineSeconds limits the delivery itself. Times in a status are whole seconds, rounded
// up.
//
// Soak and progressDeadlineSeconds are those of each batch: ten batches that soak for 30m take five
// hours. With batchSoak and stageDeadlineSeconds there are a soak and a deadline of the whole stage.
// With perCluster each cluster is its own batch and several are under way at once: see
// [v1alpha1.PerCluster].
//
// # Invariants
//
// Whatever users edit, clusters do, and players read late, several at once, interrupted between any
// two writes, the following holds. TestHistories of package player plays random histories of each
// transport against it.
//
//	(a) No stage is entered before every earlier one was passed with the wanted revision, unless the
//	    status was lost: then the rollout goes on from the last stage that has a placement. To start a
//	    stage while an earlier one has failed takes onFailure: Continue, and to leave one out
//	    skipIfEmpty.
//	(b) A cluster that has the workload keeps it, except: under retention Move, once the next stage has
//	    it; and by a rollback of a first installation. Under Keep, a placement that an edit narrows
//	    keeps a cluster until another one was observed to hold it.
//	(c) A rollback ends: the stage is not entered again until another revision comes or a retry is asked
//	    for.
//	(d) When conditions hold and no user edits, the rollout comes to its end, each cluster that
//	    should have the workload has it, and nothing is left over.
//	(e) Every wait has a reason: the object, the cluster and the value that was seen, or the
//	    placement, the revision, the time or the annotation that is awaited.
//
// Carry a decision out in this order: the status, then placements, then removals. Each
// placement carries the version that the status has for it. So one that another program has read long
// ago, or one from before it was removed, is recognized, and a late write of another program fails. A
// placement that is newer than the status shows that an old status was restored: then no approval and
// no soak from before counts.
//
// A removal follows from what was read. Changes after that are not seen by one that is already
// decided, and (b) does not hold for them until the next decision.
//
// # What KubeStellar cannot do
//
// The hub holds one version of an object, so with updates: Staged:
//
//   - A cluster that joins before the turn of its stage receives nothing until then; one that loses an
//     object receives the newest version.
//   - Objects that are added to or removed from the workload come and go everywhere at once.
//   - A write of labels or annotations of an object is also a new revision. Status that is returned
//     into objects would be one, so wantSingletonReportedState is refused.
//   - A version that is applied while a wave of clusters is open reaches that wave at once. It counts
//     as the newer revision only.
//   - The hub and the inventory and transport space are restored from the same backup: nothing in both shows
//     which version a held cluster has received since. The rollout reports the version of the backup for that
//     cluster until the cluster gets another revision.
//
// # Determinism
//
// A decision is a function of the policy, the stored status and the world. Deciding again changes
// nothing.
//
// # Concurrency
//
// Sources, Policies and Expressions are immutable and safe for concurrent use. A Rollout must not
// be used from several goroutines at once. Arguments are not changed.
//
// # Compatibility
//
// Policies for the workload stager work unchanged and mean the same. Where its behavior is a
// fault, ours differs intentionally:
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
