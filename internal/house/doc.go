// Package house has the tests that guard the repository. They check imports, the number of packages
// that users link, sizes, documents, and limits across packages. The package has no code besides
// tests, which run in the root of the repository.
package house
