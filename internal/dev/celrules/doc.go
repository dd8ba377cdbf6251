// Package celrules tests that rules of kstatus/celrule give the same verdicts as their exports. It
// evaluates the exported expressions with the code of Flux and of kro, over the objects of
// ../shared/conformance/health and over mutations of them.
//
// It is a separate module because no other package needs Flux and kro.
package celrules
