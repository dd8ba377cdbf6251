// Package celrules tests that rules of kstatus/celrule, and what they are exported as, give the same
// verdicts: it evaluates the exported expressions with the code of Flux and of kro, over the objects
// of ../shared/conformance/health and over mutations of them.
//
// It is a separate module because no other package needs Flux and kro.
package celrules
