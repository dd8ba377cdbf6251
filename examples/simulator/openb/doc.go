// Package openb repeats the experiment of "Beware of Fragmentation" (USENIX ATC '23). One of six
// policies places the Pods of the openb trace on its 1,213 nodes, until no more GPUs are free.
//
// # Terminology
//
// A device is a GPU; its capacity is 1,000. A Pod asks for no device, for a share of one, or for
// several whole ones. The arrived share is what all Pods so far asked for, whether they were placed
// or not. Allocation is what was placed. A fragment is idle capacity that a typical Pod cannot use;
// Fragmentation is its expected amount for the mix of typical Pods. All three are in per cent of
// all devices.
//
// # Usage
//
//	trace, err := openb.Read(folder)
//	result, err := trace.Run(ctx, "06-FGD", 42)
//	fmt.Println(result.Allocation[100], result.Fragmentation[50])
//
// # Method
//
// METHOD.md in this directory says what is modelled, and where each number comes from.
//
// # Determinism
//
// A run depends only on the trace, the policy and the seed. It uses math/rand, so that the order of
// the Pods and of the nodes is the same as in the published run with the same seed.
//
// # Concurrency
//
// A Trace is immutable and safe for concurrent use.
package openb
