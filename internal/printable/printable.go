// Package printable escapes strings from objects for a line of a terminal or a log. Without it an
// object could forge a second line, or send escape sequences.
package printable

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Longest is the largest number of bytes of a string that are printed.
const Longest = 1 << 10

// Text returns s cut after [Longest] bytes, and with unprintable characters escaped as in Go, such
// as \n and \x1b. Spaces and all graphic characters stay. Backslashes also stay, so that a
// printable text is returned unchanged.
func Text(s string) string { return upTo(s, Longest) }

func upTo(s string, longest int) string {
	if len(s) <= longest && !strings.ContainsFunc(s, unfit) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if i >= longest {
			fmt.Fprintf(&b, "… (%d bytes)", len(s))
			break
		}
		write(&b, s[i:], r)
	}
	return b.String()
}

// Line returns s like [Text], but does not cut it.
func Line(s string) string { return upTo(s, len(s)) }

// Error returns the text of an error, as [Text] does.
func Error(err error) string { return Text(err.Error()) }

func write(b *strings.Builder, s string, r rune) {
	switch {
	case r == utf8.RuneError && invalid(s):
		fmt.Fprintf(b, `\x%02x`, s[0])
	case unfit(r):
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	default:
		b.WriteRune(r)
	}
}

func invalid(s string) bool {
	_, size := utf8.DecodeRuneInString(s)
	return size == 1
}

// unfit reports whether a character must be escaped: control characters, characters that change the
// direction of text, other line separators, and bytes that are not UTF-8.
func unfit(r rune) bool {
	return r == utf8.RuneError || !unicode.IsPrint(r) && !unicode.IsSpace(r) || isBreak(r)
}

// isBreak reports whether a space character is more than a space.
func isBreak(r rune) bool {
	return unicode.IsSpace(r) && r != ' ' && !unicode.Is(unicode.Zs, r)
}
