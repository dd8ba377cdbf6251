// Package parts decides what the parts of a Stage mean that say when it is played: which objects its
// selector chooses, how long its delay is, and how often it is drawn among others by its weight. It is
// what packages selector and delay offer to everybody, with the expression.Compiler and expression.Scope
// that the parts of a Stage share.
//
// It alone reads the fields of a StageSelector, a StageDelay and the weight fields of a StageSpec. Others
// ask for what a Stage says, whether it compiles or not ([ReadSelector], [DescribeDelay],
// [DescribeWeight]), or for what that means for an object.
//
// # Concurrency
//
// A Selector, a SelectorGroup, a Delay and a Weight are immutable and safe for concurrent use.
package parts
