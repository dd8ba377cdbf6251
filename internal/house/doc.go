// Package house has the tests that guard the repository. They check imports, the number of packages
// that users link, sizes, documents, and limits across packages. The package has no code besides
// tests, which run in the root of the repository. It is a separate module, so that the tests of the core
// do not build the lab. The cache of test results does not see what they read: use -count=1.
package house
