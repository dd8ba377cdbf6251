package kstatus

import "strings"

// A tone is what a word of a reason, of a phase or of the type of a condition says of its object. Of several in a phrase the greatest counts.
type tone uint8

const (
	quiet   tone = iota // says nothing
	stepped             // one step of several is done
	lively              // good as a phase, but as a condition it may well be False
	good                // a wanted state, which may take a while
	sound               // a judgement in favour; its opposite is an error
	done                // the end of something that ends
	running             // good for what serves, busy for what ends
	held                // waits on purpose
	busy                // on the way
	bad                 // an error
	fatal               // an error that does not go away by itself
	not                 // turns the next word round
)

// tones are the words that APIs use for states, without the forms in -ing, which are busy unless they stand here.
var tones = lexicon{
	stepped: `configured created initialized launched provisioned registered scheduled updated validated`,
	lively:  `active`,
	good: `allocated assigned attached availability available bound connected deployable deployed discoverable enabled ensured exists green installed issued normal
		joined loaded matched ok online operational passing populated provided programmed published advertised reachable readiness ready released rendered resumed satisfied stable up uptodate verified idle`,
	sound: `accepted admitted adopted applied approved compliant established granted healthy insync reconciled resolved synced synchronized valid`,
	done:  `complete completed done finished passed promoted success successful successfully succeeded`,
	held:  `disabled hibernated pause paused stopped suspend suspended`,
	busy:  `inprogress new pending progress progressed provision queued requested retry submitted unavailable unknown wait yellow`,
	bad: `backoff broken cannot conflict conflicted corrupt crash crashed critical dead deadlock degraded err error errored errors evicted exceeded
		expired fail failed failing failure failures faulted inconsistent insufficient lost mismatch misconfigured noncompliant red refused stale timeout
		unable unhealthy unreachable`,
	fatal:   `aborted canceled cancelled denied forbidden illegal invalid malformed rejected stalled terminal unauthorized unsupported`,
	not:     `no non none not partial partially un`,
	running: `running`,
	quiet:   `archiving disrupting ingress missing listening monitoring nothing remaining serving streaming string warning`,
}.index()

type lexicon map[tone]string

// A dictionary finds the tones of words, hashed by hand as a [table] is: most of the time of a verdict goes into words.
type dictionary [256][]meaning

type meaning struct {
	word string
	tone tone
}

func (l lexicon) index() *dictionary {
	index := &dictionary{}
	for t, words := range l {
		for w := range strings.FieldsSeq(words) {
			at := hash(w) % len(index)
			index[at] = append(index[at], meaning{w, t})
		}
	}
	return index
}

// of returns the tone of a word in small letters.
func (d *dictionary) of(word []byte) (tone, bool) {
	for _, m := range d[hash(word)%len(d)] {
		if m.word == string(word) {
			return m.tone, true
		}
	}
	return quiet, false
}

// longestWord is longer than any word of the lexicon.
const longestWord = 24

// toneOf is the tone of one word in any case.
func toneOf(word string) tone {
	var buffer [longestWord]byte
	if len(word) > longestWord {
		return quiet
	}
	for i := range len(word) {
		buffer[i] = word[i] | 0x20 // words are letters and digits
	}
	low := buffer[:len(word)]
	if t, known := tones.of(low); known {
		return t
	}
	if n := len(low); n > 4 && string(low[n-3:]) == "ing" {
		return busy
	}
	return quiet
}

// phraseTone is the tone of words in CamelCase, kebab-case or plain text.
func phraseTone(s string) tone {
	loudest, negated := quiet, false
	for word, rest := cutWord(s); word != ""; word, rest = cutWord(rest) {
		t := toneOf(word)
		if t == not {
			negated = true
			continue
		}
		if negated {
			t = t.negated()
		}
		loudest, negated = max(loudest, t), false
	}
	return loudest
}

// lastTone is the tone of the last word.
func lastTone(s string) (t tone) {
	for word, rest := cutWord(s); word != ""; word, rest = cutWord(rest) {
		t = toneOf(word)
	}
	return t
}

// wrong says whether the tone is that of an error.
func (t tone) wrong() bool { return t == bad || t == fatal }

// negated is the tone of a word after "not": what is not ready is on the way, what is no error says nothing.
func (t tone) negated() tone {
	if stepped <= t && t <= running {
		return busy
	}
	return quiet
}

// cutWord returns the first word of s and what follows it. Words are letters and digits; a capital begins one, a run of capitals is one.
func cutWord(s string) (word, rest string) {
	start := 0
	for start < len(s) && !isLower(s[start]) && !isUpper(s[start]) {
		start++
	}
	end := start
	for end < len(s) && isUpper(s[end]) {
		end++
	}
	if end-start > 1 && end < len(s) && isLower(s[end]) {
		return s[start : end-1], s[end-1:]
	}
	for end < len(s) && isLower(s[end]) {
		end++
	}
	return s[start:end], s[end:]
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

func isLower(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

// ends says whether objects of a kind run to an end, so that one that is running is on the way.
func ends(kind string) bool {
	last := ""
	for word, rest := cutWord(kind); word != ""; word, rest = cutWord(rest) {
		if recurs(word) {
			return false
		}
		last = word
	}
	switch last {
	case "Action", "Analysis", "Backup", "Build", "Execution", "Experiment", "Job", "Migration", "Operation", "Ops", "Restore", "Run", "Runs", "Task",
		"Test", "Upgrade", "Workflow":
		return true
	}
	return false
}

// recurs says whether a word is of what makes runs, which does not end with one.
func recurs(word string) bool {
	switch word {
	case "Cron", "Recurring", "Scaled", "Scheduled":
		return true
	}
	return false
}

func set(words string) map[string]bool {
	s := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		s[w] = true
	}
	return s
}
