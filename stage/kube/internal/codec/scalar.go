package codec

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"reflect"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// scalars are the functions that read values of Go's built-in types.
var scalars = map[reflect.Kind]valueSchema{
	reflect.String:  {wire: protowire.BytesType, read: readString},
	reflect.Bool:    {wire: protowire.VarintType, read: readBool},
	reflect.Int:     {wire: protowire.VarintType, read: readInt},
	reflect.Int32:   {wire: protowire.VarintType, read: readInt},
	reflect.Int64:   {wire: protowire.VarintType, read: readInt},
	reflect.Uint32:  {wire: protowire.VarintType, read: readInt},
	reflect.Float64: {wire: protowire.Fixed64Type, read: readFloat},
}

func readString(d *decoder, w wireValue, _ Fields) (any, bool) {
	return d.intern(w.bytes).boxed(), true
}

func readBool(_ *decoder, w wireValue, _ Fields) (any, bool) { return w.number != 0, true }

func readInt(_ *decoder, w wireValue, _ Fields) (any, bool) { return int64(w.number), true }

// readFloat reads a float as it would be read from JSON, which writes 1.0 as 1.
func readFloat(_ *decoder, w wireValue, _ Fields) (any, bool) {
	text, err := json.Marshal(math.Float64frombits(w.number))
	if err != nil {
		return nil, false
	}
	return number(text)
}

func readBytes(_ *decoder, w wireValue, _ Fields) (any, bool) {
	return base64.StdEncoding.EncodeToString(w.bytes), true
}

// directReaders are the functions for the most frequent types with their own JSON methods. They
// make no Go value.
var directReaders = map[reflect.Type]func(*decoder, wireValue, Fields) (any, bool){
	reflect.TypeFor[metav1.Time]():       readTime,
	reflect.TypeFor[resource.Quantity](): readQuantity,
}

// readTime reads a time. JSON has only its seconds.
func readTime(d *decoder, w wireValue, _ Fields) (any, bool) {
	if len(w.bytes) == 0 {
		return nil, true
	}
	seconds, ok := lastValue(w.bytes, 1)
	if !ok {
		return nil, false
	}
	var text [len(time.RFC3339) + 8]byte
	return d.intern(time.Unix(int64(seconds.number), 0).UTC().AppendFormat(text[:0], time.RFC3339)).boxed(), true
}

// readQuantity reads a quantity, which is written in its canonical form.
func readQuantity(d *decoder, w wireValue, _ Fields) (any, bool) {
	text, ok := lastValue(w.bytes, 1)
	if len(text.bytes) == 0 {
		return "0", ok
	}
	return d.intern(text.bytes).boxed(), ok
}

// unmarshaler has the method that generated code implements.
type unmarshaler interface{ Unmarshal([]byte) error }

// throughGoType reads a value of a type that has its own JSON methods: it makes a Go value, and
// reads the JSON of that. Such types are in apimachinery and have not changed in years. If a later
// version adds a field to one of them, that field is not noticed.
func throughGoType(t reflect.Type) func(*decoder, wireValue, Fields) (any, bool) {
	return func(_ *decoder, w wireValue, _ Fields) (any, bool) {
		made := reflect.New(t)
		if t.Kind() == reflect.Slice {
			made.Elem().Set(reflect.MakeSlice(t, 0, 0)) // as generated code begins one
		}
		m, ok := made.Interface().(unmarshaler)
		if !ok || m.Unmarshal(w.bytes) != nil {
			return nil, false
		}
		text, err := json.Marshal(m)
		if err != nil {
			return nil, false
		}
		var v any
		err = utiljson.Unmarshal(text, &v)
		return v, err == nil
	}
}
