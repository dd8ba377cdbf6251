// Command release sets the versions of the published modules, packs them for a proxy, and names
// their tags.
//
//	go run . -core v1.2.0 -lab v0.3.0             # the requirements in the checkout say so, published modules lose their replace lines
//	go run . -core v1.2.0                         # the same for the core alone
//	go run . -dev                                 # back to v0.0.0 and replace lines
//	go run . -api                                 # records the API, which later versions are compared with
//	go run . -core v1.2.0 -lab v0.3.0 -proxy DIR  # packs all published modules into DIR; the checkout stays as it is
//
// # Terminology
//
// A published module is a module that users get with go get; published.txt lists them, each with
// its set: the core or the lab. The modules of a set have one version. The lab requires the core:
// to release the lab alone, give -core the version of the core; no file of the core may have
// changed since. The other modules are for development: they keep their replace lines, and are not
// packed. A proxy is a directory tree in the format for GOPROXY=file://DIR.
//
// # Usage
//
// See CONTRIBUTING.md. With versions, the go.sum files get the checksums that the packed modules
// have, so that the tagged commit builds from the proxy. They are right if the checkout has exactly
// the files that will be committed: use a clean clone.
package main
