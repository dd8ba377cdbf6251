//go:build !race

package staged_test

const raced = false
