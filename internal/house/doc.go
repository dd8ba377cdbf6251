// Package house holds the tests that guard the repository: which package may import which, how many
// packages users link, sizes, what documents say, and limits that hold across packages. It has no code
// of its own. The tests run in the root of the repository.
package house
