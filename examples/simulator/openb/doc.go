// Package openb repeats the experiment of "Beware of Fragmentation" (USENIX ATC '23): the Pods of
// the openb trace are placed on its 1,213 nodes by one of six policies, until no more GPUs are free.
//
// # Terminology
//
// A device is a GPU; its capacity is 1,000. A Pod asks for no device, for a share of one, or for
// several whole ones. The arrived share is what all Pods so far asked for, whether they were placed
// or not, in per cent of all devices. Allocation is what was placed. A fragment is capacity that is
// idle and that a typical Pod cannot use; Fragmentation is its expected amount for the mix of typical
// Pods. Both are in per cent of all devices.
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
// A run depends on the trace, the policy and the seed alone. Seeds are those of math/rand, so that
// the order of the Pods and of the nodes is that of the published runs with the same seed.
//
// # Concurrency
//
// A Trace is immutable and safe for concurrent use.
package openb
