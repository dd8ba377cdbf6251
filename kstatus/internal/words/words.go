// Package words tells what the words mean that APIs use for states: in the reasons of conditions,
// in their types, in phases, and in the names of fields and kinds.
//
// # Terminology
//
// A phrase is words in CamelCase, kebab-case or plain text, such as ImagePullBackOff. Each word has
// a [Meaning]; most have none. The table of words is in lexicon.go.
//
// # Determinism
//
// Every function is pure and allocates nothing.
package words

import "strings"

// A Meaning says what a word tells about the state of an object. Of several in a phrase the
// greatest counts.
type Meaning uint8

// The meanings.
const (
	None     Meaning = iota // says nothing
	StepDone                // one of several steps is done
	Active                  // good as a phase; a condition of this type may well be False
	Good                    // a wanted state, which may take a while
	Accepted                // a judgment in favor; its opposite is an error
	Done                    // the end of something that ends
	Running                 // good for what serves, in progress for what ends
	Paused                  // waits intentionally
	Busy                    // in progress
	Bad                     // an error
	Fatal                   // an error that does not go away by itself
	Not                     // negates the next word
)

// IsError reports whether the meaning is that of an error.
func (m Meaning) IsError() bool { return m == Bad || m == Fatal }

// negated returns the meaning of a word after "not": what is not ready is in progress, and what is
// not an error says nothing.
func (m Meaning) negated() Meaning {
	if StepDone <= m && m <= Running {
		return Busy
	}
	return None
}

// Of returns the meaning of one word in any case.
func Of(word string) Meaning {
	var buffer [longestWord]byte
	lower := lowered(word, &buffer)
	if m, known := lexicon[string(lower)]; known {
		return m
	}
	switch n := len(lower); {
	case n > 4 && string(lower[n-3:]) == "ing":
		return Busy
	case n > 4 && string(lower[:2]) == "un":
		return lexicon[string(lower[2:])].negated() // unready, unscheduled
	}
	return None
}

// lowered returns a word in lower case, nothing if it does not fit into the buffer. A word is ASCII
// letters and digits.
func lowered(word string, buffer *[longestWord]byte) []byte {
	if len(word) > longestWord {
		return nil
	}
	for i := range len(word) {
		buffer[i] = word[i] | 0x20
	}
	return buffer[:len(word)]
}

// OfPhrase returns the greatest meaning of the words of a phrase.
func OfPhrase(phrase string) Meaning {
	greatest, negated, before := None, false, ""
	for word, rest := Cut(phrase); word != ""; word, rest = Cut(rest) {
		m := max(Of(word), ofPair(before, word))
		before = word
		if m == Not {
			negated = true
			continue
		}
		if negated {
			m = m.negated()
		}
		greatest, negated = max(greatest, m), false
	}
	return greatest
}

// ofPair returns the meaning of two words in a row that have one only together: BackOff, OutOfSync.
func ofPair(before, word string) Meaning {
	switch {
	case word == "Off" && before == "Back", word == "Out" && before == "Timed":
		return Bad
	case word == "Sync" && before == "Of", word == "Date" && before == "Of":
		return Busy
	}
	return None
}

// OfOutcome returns the meaning of the last word of a phrase, None if a word before it takes that
// back: a negation, a word that waits for it, or, before what is Good, a first word in -ing. So
// NewReplicaSetAvailable is Good, and ResourceNotReady, WaitingForPodsReady and UpdatingPodsReady
// are None.
func OfOutcome(phrase string) (m Meaning) {
	revoked, begins := false, false
	for word, rest := Cut(phrase); word != ""; word, rest = Cut(rest) {
		if m = Of(word); rest != "" {
			revoked = revoked || m == Not || isAwaiting(word)
		}
		if len(word)+len(rest) == len(phrase) {
			begins = m == Busy && strings.HasSuffix(word, "ing")
		}
	}
	if revoked || begins && m == Good {
		return None
	}
	return m
}

// isAwaiting reports whether a word says that what follows it has not happened yet.
func isAwaiting(word string) bool {
	var buffer [longestWord]byte
	switch string(lowered(word, &buffer)) {
	case "await", "awaits", "awaiting", "pending", "until", "wait", "waits", "waiting":
		return true
	}
	return false
}

// Cut returns the first word of a phrase and what follows it. A word is ASCII letters and digits. A
// capital begins a word; several capitals in a row are one word. At the end the word is "".
func Cut(phrase string) (word, rest string) {
	start := 0
	for start < len(phrase) && !isLower(phrase[start]) && !isUpper(phrase[start]) {
		start++
	}
	end := start
	for end < len(phrase) && isUpper(phrase[end]) {
		end++
	}
	if end-start > 1 && end < len(phrase) && isLower(phrase[end]) {
		return phrase[start : end-1], phrase[end-1:]
	}
	for end < len(phrase) && isLower(phrase[end]) {
		end++
	}
	return phrase[start:end], phrase[end:]
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

func isLower(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

// IsTransition reports whether a phrase names a change under way, such as ScalingUp, ShuttingDown or
// RollingOut: a word in -ing begins it, and Up, Down or Out ends it.
func IsTransition(phrase string) bool {
	first, last := firstAndLast(phrase)
	switch last {
	case "Up", "Down", "Out":
		return len(first) > 4 && strings.HasSuffix(first, "ing")
	}
	return false
}

// BeginsWithChange reports whether the first word of a phrase is the verb of a change, such as in
// UpdatingVersion or RollingRestart. Other words in -ing begin names: LoggingConfig.
func BeginsWithChange(phrase string) bool {
	first, _ := Cut(phrase)
	return changes[first]
}

var changes = map[string]bool{
	"Creating": true, "Deleting": true, "Installing": true, "Migrating": true, "Provisioning": true,
	"Rebalancing": true, "Reconciling": true, "Removing": true, "Replacing": true, "Resizing": true,
	"Restarting": true, "Restoring": true, "Resuming": true, "Rolling": true, "Scaling": true,
	"Starting": true, "Stopping": true, "Updating": true, "Upgrading": true,
}

// SaysRetry reports whether a text says that something is tried again.
func SaysRetry(text string) bool {
	before := None
	for word, rest := Cut(text); word != ""; word, rest = Cut(rest) {
		var buffer [longestWord]byte
		if before != Not && retryWords[string(lowered(word, &buffer))] {
			return true
		}
		before = Of(word)
	}
	return false
}

var retryWords = map[string]bool{
	"retry": true, "retrying": true, "retried": true, "requeue": true, "requeued": true, "requeuing": true,
}

// RunsSomething reports whether a phrase says what runs after the word running: RunningWorkflow.
func RunsSomething(phrase string) bool {
	first, rest := Cut(phrase)
	next, _ := Cut(rest)
	return next != "" && Of(first) == Running && Of(next) == None
}

// IsOfPart reports whether a phrase begins with a thing and not with its state, nor with how it came
// to it: resources-created, but not externally provisioned.
func IsOfPart(phrase string) bool {
	first, rest := Cut(phrase)
	return rest != "" && Of(first) == None && !strings.HasSuffix(first, "ly")
}

// IsBeginning reports whether a phase says that something has been taken up, and not yet begun.
func IsBeginning(phase string) bool { return strings.EqualFold(phase, "scheduled") }

// IsSchedule reports whether objects of a kind start others from time to time.
func IsSchedule(kind string) bool {
	for word, rest := Cut(kind); word != ""; word, rest = Cut(rest) {
		switch word {
		case "Cron", "Recurring", "Schedule", "Scheduled":
			return true
		}
	}
	return false
}

// IsJudgment reports whether the name of a field is a judgment, as in compliant: NonCompliant.
func IsJudgment(field string) bool { return IsOne(field) && Of(field) == Accepted }

// IsNegated reports whether a phrase begins with a negation and goes on: NonCompliant.
func IsNegated(phrase string) bool {
	first, rest := Cut(phrase)
	return rest != "" && Of(first) == Not
}

// LongestField is longer than any name of a field that [CountOfAll] shortens.
const LongestField = 48

// IsReadyCount reports whether a field of this name counts what is ready: readyMembers.
func IsReadyCount(field string) bool { return readyPrefix(field) > 0 }

// CountOfAll returns the name of the count of all that goes with the count of what is ready, in the
// buffer: members for readyMembers. It is empty for other names.
func CountOfAll(field string, buffer *[LongestField]byte) []byte {
	n := readyPrefix(field)
	if n == 0 || len(field)-n > len(buffer) {
		return nil
	}
	name := buffer[:copy(buffer[:], field[n:])]
	name[0] |= 0x20
	return name
}

// readyPrefix returns the length of ready, available or healthy at the beginning of a name that goes
// on with a noun, 0 for other names.
func readyPrefix(field string) int {
	for _, prefix := range [...]string{"ready", "available", "healthy"} {
		if len(field) > len(prefix) && strings.HasPrefix(field, prefix) && isUpper(field[len(prefix)]) {
			return len(prefix)
		}
	}
	return 0
}

// IsWarning reports whether a phase is a warning: what serves, but not as it should.
func IsWarning(phase string) bool {
	_, last := firstAndLast(phase)
	return strings.EqualFold(last, "warning") || strings.EqualFold(last, "warn")
}

// IsOne reports whether a phrase is one word and nothing else.
func IsOne(phrase string) bool {
	word, rest := Cut(phrase)
	return word == phrase && rest == ""
}

// IsPhaseField reports whether a field of this name holds a phase: its last word is phase, state,
// status, health or stage, and its first word does not say that the phase is only wanted.
func IsPhaseField(field string) bool {
	first, last := firstAndLast(field)
	switch first {
	case "desired", "expected", "previous", "target":
		return false
	}
	switch last {
	case "phase", "Phase", "state", "State", "status", "Status", "health", "Health", "stage", "Stage":
		return true
	}
	return false
}

// IsPast reports whether the name of a field says that it is about what happened earlier: history,
// failedAttempts, previousRuns.
func IsPast(field string) bool {
	for word, rest := Cut(field); word != ""; word, rest = Cut(rest) {
		switch word[0] | 0x20 {
		case 'h', 'p', 'f', 'a', 'l':
			if pastWords[strings.ToLower(word)] {
				return true
			}
		}
	}
	return false
}

var pastWords = map[string]bool{
	"history": true, "previous": true, "past": true, "failed": true, "failures": true, "attempts": true,
	"last": true, "archived": true, "log": true, "logs": true,
}

// NamesState reports whether a word of a field name is about a state: it is a name for one, or has a
// meaning itself.
func NamesState(field string) bool {
	for word, rest := Cut(field); word != ""; word, rest = Cut(rest) {
		var buffer [longestWord]byte
		if Of(word) != None || stateWords[string(lowered(word, &buffer))] {
			return true
		}
	}
	return false
}

var stateWords = map[string]bool{
	"phase": true, "phases": true, "state": true, "states": true, "status": true, "statuses": true,
	"health": true, "condition": true, "conditions": true, "reason": true, "reasons": true,
	"compliancy": true, "unavailable": true,
}

func firstAndLast(phrase string) (first, last string) {
	for word, rest := Cut(phrase); word != ""; word, rest = Cut(rest) {
		if first == "" {
			first = word
		}
		last = word
	}
	return first, last
}

// RunsToEnd reports whether objects of a kind end, so that one that is running is in progress: a
// Job ends, a CronJob does not.
func RunsToEnd(kind string) bool {
	last := ""
	for word, rest := Cut(kind); word != ""; word, rest = Cut(rest) {
		switch word {
		case "Cron", "Recurring", "Scaled", "Scheduled":
			return false
		}
		last = word
	}
	switch last {
	case "Action", "Analysis", "Backup", "Build", "Execution", "Experiment", "Job", "Migration",
		"Operation", "Ops", "Restore", "Run", "Runs", "Task", "Test", "Upgrade", "Workflow":
		return true
	}
	return false
}
