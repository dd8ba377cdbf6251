// Package lines limits the length of the lines that a reader of a text file accepts.
package lines

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Longest is how many bytes a line may have.
const Longest = 16 << 20

// ErrTooLong is the fault of a line with more than [Longest] bytes.
var ErrTooLong = fmt.Errorf("the line has more than %d MiB", Longest>>20)

// A Reader reads lines.
type Reader struct {
	in   *bufio.Reader
	long []byte // a line that does not fit into the buffer of in
}

// NewReader returns a Reader of all that from has.
func NewReader(from io.Reader) *Reader { return &Reader{in: bufio.NewReaderSize(from, 64<<10)} }

// Next returns the next line, without the white space around it. The line is valid until the next
// call. The error is io.EOF after the last line, [ErrTooLong] for a line that is skipped, or a read
// error, after which there are no more lines.
func (r *Reader) Next() ([]byte, error) {
	r.long = r.long[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if r.long = append(r.long, part...); len(r.long) > Longest {
				return nil, r.skip()
			}
		case err != nil && (!errors.Is(err, io.EOF) || len(part)+len(r.long) == 0):
			return nil, err
		case len(r.long) > 0:
			if r.long = bytes.TrimSpace(append(r.long, part...)); len(r.long) > Longest {
				return nil, ErrTooLong
			}
			return r.long, nil
		default:
			return bytes.TrimSpace(part), nil
		}
	}
}

// skip reads the rest of a line.
func (r *Reader) skip() error {
	r.long = nil
	for {
		_, err := r.in.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return ErrTooLong
		}
	}
}

// Limit returns a reader of the same text that fails with [ErrTooLong] at a line that is too long,
// for readers that keep a whole line.
func Limit(from io.Reader) io.Reader { return &limited{from: from} }

type limited struct {
	from   io.Reader
	length int // of the line so far
}

// Read reads.
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	for _, part := range bytes.SplitAfter(p[:n], []byte("\n")) {
		if l.length += len(part); l.length > Longest {
			return 0, ErrTooLong
		}
		if bytes.HasSuffix(part, []byte("\n")) {
			l.length = 0
		}
	}
	return n, err
}
