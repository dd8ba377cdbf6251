package codec

import "google.golang.org/protobuf/encoding/protowire"

// wireValue is one value in protobuf: a number, or bytes.
type wireValue struct {
	number uint64
	bytes  []byte
}

// nextField returns the number and the value of the field that a message begins with, and the
// number of bytes of both. This number is less than 0 if the bytes are not a field of a known wire
// type.
func nextField(data []byte) (field protowire.Number, w wireValue, n int) {
	field, wire, n := protowire.ConsumeTag(data)
	if n < 0 {
		return 0, w, n
	}
	var size int
	switch wire {
	case protowire.VarintType:
		w.number, size = protowire.ConsumeVarint(data[n:])
	case protowire.Fixed64Type:
		w.number, size = protowire.ConsumeFixed64(data[n:])
	case protowire.BytesType:
		w.bytes, size = protowire.ConsumeBytes(data[n:])
	default:
		size = protowire.ConsumeFieldValue(field, wire, data[n:])
	}
	if size < 0 {
		return 0, w, size
	}
	return field, w, n + size
}

// firstValue returns the value of the first field of a message that has one, and the other fields.
func firstValue(data []byte) (w wireValue, rest []byte) {
	_, w, n := nextField(data)
	return w, data[n:]
}

// lastValue returns the last value of a field, or nothing if the message has no such field. It
// returns false if the data is no message.
func lastValue(data []byte, field protowire.Number) (found wireValue, ok bool) {
	for len(data) > 0 {
		is, w, n := nextField(data)
		if n < 0 {
			return found, false
		}
		if is == field {
			found = w
		}
		data = data[n:]
	}
	return found, true
}
