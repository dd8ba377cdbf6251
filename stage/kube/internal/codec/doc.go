// Package codec reads what an API server sends to a dynamic client: the same objects as client-go's own codec, in a small part of the time.
//
// Client-go reads each text several times, once to find its kind and twice to validate it; this package reads it once. Fields that nobody wants are
// passed over without being built. Short strings, and keys above all, are shared between objects, because most objects of a kind differ in few of them; if it is asked
// for, so are the parts of objects that are equal, and an object that is read twice in a row, as the answer to a patch and as an event of a watch, is
// built once.
//
// It reads protobuf too, which client-go reads into Go types only: for half of the bytes, and less work of the server. The names of the fields are those
// in the tags of the Go types, found out once for each ([Shapes]), so that no Go object is made on the way.
//
// # Usage
//
//	config := dynamic.ConfigFor(config)
//	config.NegotiatedSerializer = codec.New(config.NegotiatedSerializer, codec.Options{Drop: codec.Fields{"metadata": {"managedFields": nil}}})
//
// # Concurrency
//
// What [New] returns is safe for concurrent use.
//
// # Compatibility
//
// A text that this package does not understand goes to the codec that it stands in for, so that errors are the same too. Tests compare the two.
//
// What is read from protobuf is what JSON would say of it, with a member for each field that JSON never omits: tests compare random objects of all kinds,
// and internal/dev/e2e those of a real server. A field that the Go types do not have is lost, as it is to whoever uses those types: ask for protobuf only
// where the server is not of a later version than they are.
package codec
