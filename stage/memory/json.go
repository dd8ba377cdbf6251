package memory

import "github.com/stagecraft-go/stagecraft/internal/object"

// AppendJSON appends the fields of an object to b exactly as [encoding/json.Marshal] writes them,
// in a fifth of the time. For values that JSON does not have, the error is the same as
// encoding/json's.
func AppendJSON(b []byte, fields map[string]any) ([]byte, error) { return object.AppendJSON(b, fields) }
