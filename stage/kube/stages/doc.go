// Package stages plays the Stages of a cluster. It follows their objects, and gives a player a new
// Set when one of them has changed.
//
// # Terminology
//
// A version of a Stage is its spec at a generation, with its extensions. Extensions are annotations
// and can change without a new generation. A version is good if it compiles. The version in use is
// the present version if it is good, otherwise the last good version that was seen, or none.
//
// # Usage
//
//	err := stages.Play(ctx, cluster, player.Options{}, stages.Options{})
//
// or, for a player that is made elsewhere:
//
//	p := player.New(stage.MustCompile(), cluster, options)
//	go player.Run(ctx)
//	err := stages.Follow(ctx, cluster, player, stages.Options{})
//
// [Definition] is the manifest of the CustomResourceDefinition. You can install it later: a cluster
// without it has no Stages.
//
// # Semantics
//
//  1. A changed Stage takes effect at once, on all objects of its kind. Stages that change together
//     are compiled together. The delay of an object in a Stage that has not changed continues.
//
//  2. A version that does not compile is not used: the last good one stays in use. The other Stages
//     are not concerned.
//
//  3. The condition [Accepted] of the Stage says what became of a version. It lists each fault with
//     the path of its field and, in an expression or a template, the line and column within. It is
//     written when it changes, for the version that was read. This needs the permission to patch
//     stages/status.
//
//  4. The program remembers the last good version as long as it runs. So replicas that began at
//     different times can use different versions, until the Stage is repaired. Each replica writes
//     its status once, and the condition shows the latest.
//
//  5. Stages only change and delete the objects that they are played on, unless
//     Options.Compile.Allow lists more: the users that they may impersonate, and the kinds that
//     they may apply. A Stage that does more is refused like one that does not compile, with the
//     reason [ReasonNotAllowed]. Some facts are known only after rendering, such as the namespace
//     of an object. If such a fact is not allowed, the transition fails.
//
// # Concurrency
//
// [Follow] and [Play] return when all that they began has ended. A [reconcile.Controller] of this
// package belongs to one loop.
//
// # Compatibility
//
// The kind is kwok's. Kwok has no conditions and no last good versions: it logs a Stage that does
// not compile, and looks at objects again when they change.
package stages
