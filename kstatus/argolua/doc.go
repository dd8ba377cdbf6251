// Package argolua makes rules for package kstatus from the health scripts of Argo CD, so that those
// who trust these scripts have them in kstatus/wait, in Helm and in Flux.
//
// # Terminology
//
// A health script is the file resource_customizations/GROUP/KIND/health.lua of Argo CD. It is a
// program in Lua that reads the object obj and returns a table with a status and a message. An
// underscore stands for any text in a group ("_.crossplane.io") and, alone, for every kind.
//
// # Usage
//
//	rules, err := argolua.Load(os.DirFS("argo-cd/resource_customizations"))
//	...
//	profile := kstatus.Extended().With(rules)
//	result := profile.Compute(obj, now)
//
// # Verdicts
//
//	Argo CD      | kstatus
//	-------------+-------------------------------------------------------------
//	Healthy      | Current
//	Progressing  | InProgress
//	Degraded     | Failed
//	Suspended    | Current, Suspended
//	Missing      | InProgress, with the reason Missing
//	Unknown      | Unknown, with the reason HealthUnknown
//	none         | no opinion: the rules of the profile decide
//
// The general rules of kstatus come first, as always: an object that is being deleted, or whose
// controller has not observed its generation, is not for the script to judge. A script that fails,
// returns something else, or exceeds a limit, makes the object Unknown with the reason ScriptFailed.
//
// # Limits
//
// Scripts run in a sandbox: they have no files, no network, no modules, and no metatables. Every
// verdict has a new state. A script may take [Options.Steps] instructions and make
// [Options.Bytes] of strings; the steps of a pattern count as well. What a script
// returns depends on no clock: os.time is the time of the verdict.
//
// # When to take which
//
// Take the scripts where Argo CD decides today and another tool must say the same, or for kinds of
// your own that already have one. The rules of [kstatus.Extended] know more kinds, and never fail on an
// incomplete object: many scripts index a spec or metadata without asking whether it exists.
// internal/dev/argolua has the figures.
//
// # Determinism
//
// The same object and time give the same verdict on every machine.
//
// # Concurrency
//
// Scripts and rules are immutable and safe for concurrent use.
package argolua
