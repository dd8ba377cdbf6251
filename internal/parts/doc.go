// Package parts decides the meaning of the selector, the delay and the weight of a Stage: which
// objects the selector chooses, how long the delay is, and how often the Stage is drawn. Packages
// selector and delay are its public form. Here callers pass the expression.Compiler and
// expression.Scope that the parts of a Stage share.
//
// Only this package reads the fields of a StageSelector and a StageDelay, and the weight fields of
// a StageSpec. Other packages call [ReadSelector], [DescribeDelay] or [DescribeWeight] for the text
// of a Stage, whether it compiles or not, or evaluate a compiled part on an object.
//
// # Concurrency
//
// A Selector, a SelectorGroup, a Delay and a Weight are immutable and safe for concurrent use.
package parts
