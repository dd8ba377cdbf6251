// Package race tells tests whether the race detector is on: with it everything takes several times
// as long, and strings and slices are allocated that are not allocated otherwise.
package race
