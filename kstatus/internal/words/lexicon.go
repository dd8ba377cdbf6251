package words

import "strings"

// meanings are the words by meaning. Words in -ing are Busy unless they are listed.
var meanings = map[Meaning]string{
	StepDone: `configured created initialized launched provisioned registered scheduled updated validated`,
	Active:   `active`,
	Good: `advertised formed alive allocated assigned attached availability available bound connected converged
		deployable deployed discoverable enabled ensured exists functional green idle installed issued joined
		loaded matched mounted normal ok online operational optimal passing populated programmed provided
		published reachable readiness ready released rendered responsive restored resumed satisfied stable up
		uptodate verified`,
	Accepted: `accepted admitted adopted applied approved compliant established granted healthy insync
		reconciled resolved synced synchronized valid`,
	Done:   `accomplished complete completed done finished passed promoted success successful successfully succeeded`,
	Paused: `disabled halted hibernated pause paused stopped suspend suspended`,
	Busy: `deferred delayed incomplete inprogress new outdated pending progress progressed provision queued requested retry submitted
		unavailable unknown wait yellow`,
	Bad: `abnormal backoff blocked broken cannot conflict conflicted corrupt corrupted crash crashed critical dead
		deadlock degraded disconnected err
		error errored errors evicted exceeded expired fail failed failing failure failures faulted
		impossible inaccessible incompatible inconsistent incorrect insufficient killed lost mismatch misconfigured noncompliant offline oomkilled orphan orphaned red refused stale timeout
		stuck unable unhealthy unreachable unusable violated`,
	Fatal: `aborted canceled cancelled denied forbidden illegal invalid malformed rejected stalled terminal
		unauthorized unsupported`,
	Not:     `no non none not partial partially un`,
	Running: `running`,
	None: `archiving disrupting ingress listening missing monitoring nothing remaining serving streaming
		string warning`,
}

// lexicon gives the meaning of a word in lower case.
var lexicon = func() map[string]Meaning {
	out := map[string]Meaning{}
	for m, words := range meanings {
		for word := range strings.FieldsSeq(words) {
			out[word] = m
		}
	}
	return out
}()

// longestWord is longer than any word of the lexicon.
const longestWord = 24
