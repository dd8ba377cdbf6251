package codec

import (
	"bytes"
	"errors"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
)

// framer finds the watch events in a stream.
type framer struct{ runtime.Framer }

// NewFrameReader returns a reader whose Read returns one object or, with io.ErrShortBuffer, the
// next part of one.
func (f framer) NewFrameReader(body io.ReadCloser) io.ReadCloser { return &frames{body: body} }

type frames struct {
	body    io.ReadCloser
	pending bytes.Buffer // read, and not given out
	left    int          // how many bytes of it are the rest of an object
}

// chunk is the least number of bytes that a read asks for.
const chunk = 16 << 10

var errNoObject = errors.New("not an object in a stream of watch events")

// Close closes the stream.
func (f *frames) Close() error { return f.body.Close() }

// Read returns the rest of an object, or the next object.
func (f *frames) Read(p []byte) (int, error) {
	if f.left == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, f.pending.Next(min(len(p), f.left)))
	if f.left -= n; f.left > 0 {
		return n, io.ErrShortBuffer
	}
	return n, nil
}

// next reads until there is an object.
func (f *frames) next() error {
	var b brackets
	for seen := 0; ; {
		if seen == 0 {
			f.trim()
		}
		data := f.pending.Bytes()
		if len(data) > 0 && data[0] != '{' {
			return errNoObject
		}
		if n := b.end(data[seen:]); n > 0 {
			f.left = seen + n
			return nil
		}
		seen = len(data)
		if err := f.more(); err != nil {
			return err
		}
	}
}

// trim drops the space between objects.
func (f *frames) trim() {
	data := f.pending.Bytes()
	f.pending.Next(len(data) - len(bytes.TrimLeft(data, " \t\r\n")))
}

// more reads more of the stream. The end of the stream within an object is io.ErrUnexpectedEOF.
func (f *frames) more() error {
	f.pending.Grow(chunk)
	free := f.pending.AvailableBuffer()
	n, err := f.body.Read(free[:cap(free)])
	f.pending.Write(free[:n])
	switch {
	case n > 0:
		return nil
	case errors.Is(err, io.EOF) && f.pending.Len() > 0:
		return io.ErrUnexpectedEOF
	}
	return err
}

// brackets finds the end of an object or array, in as many pieces as the text comes in. The zero
// value is before its first bracket.
type brackets struct {
	depth   int
	quoted  bool // within a string
	escaped bool // after a backslash
}

// end returns how many bytes belong to the value, or -1 if it goes on after them.
func (b *brackets) end(data []byte) int {
	for i := 0; i < len(data); i++ {
		if b.quoted {
			i = b.unquote(data, i)
			continue
		}
		switch data[i] {
		case '"':
			b.quoted = true
		case '{', '[':
			b.depth++
		case '}', ']':
			if b.depth--; b.depth <= 0 {
				return i + 1
			}
		}
	}
	return -1
}

// unquote skips the rest of a string, up to its closing quote or the end of the data. Most bytes of
// an object are in strings, so this is a separate, short loop.
func (b *brackets) unquote(data []byte, i int) int {
	for ; i < len(data); i++ {
		switch c := data[i]; {
		case b.escaped:
			b.escaped = false
		case c == '"':
			b.quoted = false
			return i
		case c == '\\':
			b.escaped = true
		}
	}
	return i
}
