package codec_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"

	"github.com/stagecraft-go/stagecraft/stage/kube/internal/codec"
)

// received is the content of a stream until it ends.
type received struct {
	types, objects []string
	err            error
}

// receive reads a stream as a watch does.
func receive(info runtime.SerializerInfo, stream io.Reader) (r received) {
	frames := info.StreamSerializer.Framer.NewFrameReader(io.NopCloser(stream))
	events := streaming.NewDecoder(frames, info.StreamSerializer.Serializer)
	for {
		var e metav1.WatchEvent
		if _, _, r.err = events.Decode(nil, &e); r.err != nil {
			return r
		}
		r.types = append(r.types, e.Type)
		r.objects = append(r.objects, string(e.Object.Raw))
	}
}

// pieces are the ways in which a stream may arrive.
var pieces = map[string]func(io.Reader) io.Reader{
	"all at once": func(r io.Reader) io.Reader { return r },
	"by bytes":    iotest.OneByteReader,
	"by halves":   iotest.HalfReader,
	"end at once": iotest.DataErrReader,
}

func TestStreamsAreReadAsClientGoReadsThem(t *testing.T) {
	theirs, ours := both(codec.Options{})
	for name, stream := range map[string]string{
		"recorded": string(recorded(t, "watch.json")),
		"nothing":  "",
		"space":    " \n",
		"printed":  "{\n  \"type\": \"ADDED\",\n  \"object\": {\"a\": \"}\\\"{\"}\n}\n\n{\"object\":{},\"type\":\"MODIFIED\",\"more\":[1,\"x\"]}",
		"cut":      `{"type":"ADDED","object":{}}{"type":"ADD`,
		"large":    `{"type":"ADDED","object":{"a":"` + strings.Repeat("x", 100<<10) + `"}}`,
	} {
		want := receive(theirs, strings.NewReader(stream))
		for way, in := range pieces {
			require.Equal(t, want, receive(ours, in(strings.NewReader(stream))), "%s, %s", name, way)
		}
	}
}

func TestEndsOfStreams(t *testing.T) {
	_, ours := both(codec.Options{})
	cut := errors.New("connection reset")
	require.ErrorIs(t, receive(ours, io.MultiReader(strings.NewReader(`{"type":"A","object":{}}{`), iotest.ErrReader(cut))).err, cut)
	for _, stream := range []string{`true`, `"a"`, `]`, `{"type":"ADDED"]`, `{"type":1,"object":{}}`, `{"type":"ADDED","object":{}`} {
		require.Error(t, receive(ours, strings.NewReader(stream)).err, stream)
		require.NotErrorIs(t, receive(ours, strings.NewReader(stream)).err, io.EOF, stream)
	}
}
