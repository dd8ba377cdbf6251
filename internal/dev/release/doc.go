// Command release sets the version of the published modules, packs them for a proxy, and names
// their tags.
//
//	go run . -version v0.1.0              # the requirements in the checkout say v0.1.0, published modules lose their replace lines
//	go run . -dev                         # back to v0.0.0 and replace lines
//	go run . -version v0.1.0 -proxy DIR   # packs all published modules into DIR; the checkout stays as it is
//
// # Terminology
//
// A published module is one that users get with go get; published.txt lists them. The other modules
// are for development: they keep their replace lines, and are not packed. A proxy is a directory
// tree as GOPROXY=file://DIR wants it.
//
// # Usage
//
// See CONTRIBUTING.md. With -version, the go.sum files get the checksums that the packed modules
// have, so that the tagged commit builds from the proxy. They are right if the checkout holds what
// will be committed and nothing else: use a clean clone.
package main
