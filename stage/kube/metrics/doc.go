// Package metrics counts what a player does, for Prometheus.
//
// # Usage
//
//	m := metrics.New()
//	p := player.New(set, cluster, player.Options{Trace: m.Trace})
//	m.Stats(player.Stats)
//	prometheus.MustRegister(m)
//	err := player.Run(ctx)
//
// # Metrics
//
//	name                            type       labels                        what
//	-----------------------------------------------------------------------------------------------------------------------
//	stagecraft_observed_total       counter    group, kind                   states of objects that were looked at
//	stagecraft_scheduled_total      counter    group, kind, stage            Stages that were entered
//	stagecraft_cancelled_total      counter    group, kind, stage            of those, how many were left before they were played
//	stagecraft_played_total         counter    group, kind, stage            of those, how many were played
//	stagecraft_effects_total        counter    group, kind, effect, result   effects
//	stagecraft_failures_total       counter    group, kind, cause            what ended in an error
//	stagecraft_lag_seconds          histogram  group, kind                   from when a transition was due to when an effect of it was done
//	stagecraft_objects              gauge                                    objects that are played
//	stagecraft_pending              gauge                                    of those, how many have a transition ahead
//	stagecraft_retrying             gauge                                    of those, how many wait to send an effect again
//	stagecraft_queued               gauge                                    objects with news that nobody has looked at yet
//
// An effect is a patch, an apply, a delete or an event. Its result is
//
//	done      it was carried out
//	nothing   it is a patch that would change nothing, and was not sent
//	retried   it failed, and is sent again
//	failed    it failed for good
//
// The cause of a failure is
//
//	evaluation   an expression or a template
//	livelock     an object whose Stages play without time passing
//	effect       an effect that failed for good
//	watch        the objects of a kind could not be listed or watched; that is tried again
//
// No label holds the name of an object: the number of series depends on the Stages alone. The
// gauges are there once there is a player.
//
// # Concurrency
//
// A Collector is safe for concurrent use, and may count for several players.
package metrics
