// Package codec reads the answers of an API server for a dynamic client. It returns the same
// objects as client-go's own codec, in a small part of the time.
//
// Client-go reads each JSON text four times: once to find its kind, twice to validate it, once to
// build the object. This package reads it once. It skips the fields that the caller does not want,
// and keeps tables of short strings, so that objects share them. With [Options].Share, objects also
// share equal maps and lists. An object that is read twice in a row, as the answer to a patch and
// as an event of a watch, is then built once.
//
// It also reads protobuf into maps and lists; client-go reads protobuf only into Go types. Protobuf
// has half the bytes of JSON, and costs the server less. The names of the fields come from the tags
// of the Go types ([Schemas]); the package makes no value of these types.
//
// # Usage
//
//	config := dynamic.ConfigFor(config)
//	config.NegotiatedSerializer = codec.New(config.NegotiatedSerializer, codec.Options{
//		Drop: codec.Fields{"metadata": {"managedFields": nil}},
//	})
//
// # Concurrency
//
// The result of [New] is safe for concurrent use.
//
// # Compatibility
//
// A JSON text that this package does not understand is read by client-go's codec, so that errors
// are also the same. Tests compare the two.
//
// An object read from protobuf is equal to the same object read from JSON: it has a member for each
// field that JSON never omits. Tests compare random objects of all kinds, and internal/dev/e2e
// those of a real server. Nothing is lost: if the server is newer, a message can have a field that
// the Go types of this program do not have. Such a message is an [UnreadableError], and the caller
// asks for JSON.
package codec
