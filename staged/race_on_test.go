//go:build race

package staged_test

// raced says that the race detector is on, with which everything takes several times as long.
const raced = true
