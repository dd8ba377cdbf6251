// Package race tells tests whether the race detector is on. With the detector everything takes
// several times as long, and more strings and slices are allocated.
package race

// Fewer is n, or a tenth of it with the race detector: for tests of one goroutine, which cannot race.
// .ci/run plays all n of them without the detector.
func Fewer(n int) int {
	if On {
		return max(1, n/10)
	}
	return n
}
