// Package printable makes strings that may come from objects fit for a line of a terminal or a log:
// without it, an object could forge a second line, or send escape sequences.
package printable

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Longest is how many bytes of a string are printed.
const Longest = 1 << 10

// Text returns s with characters that are not printable escaped as in Go, such as \n and \x1b, and
// cut after [Longest] bytes. Spaces, backslashes and all graphic characters stay, so a printable
// text is unchanged.
func Text(s string) string {
	if len(s) <= Longest && !strings.ContainsFunc(s, unfit) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if i >= Longest {
			fmt.Fprintf(&b, "… (%d bytes)", len(s))
			break
		}
		write(&b, s[i:], r)
	}
	return b.String()
}

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

// unfit reports whether a character is not shown as itself: control characters, characters that
// change the direction of text, other line separators, and bytes that are not UTF-8.
func unfit(r rune) bool {
	return r == utf8.RuneError || !unicode.IsPrint(r) && !unicode.IsSpace(r) || isBreak(r)
}

// isBreak reports whether a space character is more than a space.
func isBreak(r rune) bool {
	return unicode.IsSpace(r) && r != ' ' && !unicode.Is(unicode.Zs, r)
}
