// Package race tells tests whether the race detector is on. With the detector everything takes
// several times as long, and more strings and slices are allocated.
package race
