package kstatus

// A Basis is what a verdict rests on. A greater basis is a better one, so that they can be compared:
// ACCURACY.md says how often the verdicts of each are right.
type Basis uint8

// The bases. A verdict that rests on several has the weakest.
const (
	BasisGuess      Basis = iota + 1 // the object says nothing: no status, or one without a known word
	BasisWords                       // the names of fields and conditions, and the words of reasons, phases and messages
	BasisConvention                  // Ready, Reconciling, Stalled, observedGeneration, or Available with Degraded
	BasisKind                        // a rule for this kind, of the profile or of the caller
)

var basisNames = [...]string{"", "Guess", "Words", "Convention", "Kind"}

// String returns Kind, Convention, Words or Guess, "" for 0.
func (b Basis) String() string {
	if int(b) < len(basisNames) {
		return basisNames[b]
	}
	return ""
}

// restOn sets the basis of a result that has none.
func (r *Result) restOn(b Basis) {
	if r.Basis == 0 {
		r.Basis = b
	}
}
