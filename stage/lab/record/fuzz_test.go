package record_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

// FuzzRead reads any text in both formats. Every record that can be read is the same after it was
// written and read again, also in the other format.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"ns":1,"kind":"Pod","name":"p","to":"Running","amounts":{"cpu":0.5}}`))
	f.Add([]byte("ns,kind,name,to,amounts\n1,Pod,p,Running,cpu=0.5;memory=1e+09\n"))
	f.Add([]byte("ns,kind,name,to\n1,\"Pod\n\",p,Running\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		log, err := record.Collect(record.ReadJSONL("log", bytes.NewReader(data)))
		if err != nil {
			log, err = record.Collect(record.ReadCSV("log", bytes.NewReader(data)))
		}
		if err != nil {
			require.Nil(t, log)
			return
		}
		var jsonl bytes.Buffer
		require.NoError(t, record.NewJSONLWriter(&jsonl).WriteAll(log))
		again, err := record.Collect(record.ReadJSONL("log", bytes.NewReader(jsonl.Bytes())))
		require.NoError(t, err)
		var second bytes.Buffer
		require.NoError(t, record.NewJSONLWriter(&second).WriteAll(again))
		require.Equal(t, jsonl.String(), second.String())
	})
}
