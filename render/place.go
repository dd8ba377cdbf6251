package render

import "strings"

func leadingSpace(text string) int {
	return len(text) - len(strings.TrimLeft(text, " \t\r\n\v\f\u0085\u00a0"))
}

// offsetOf is the byte at line, from 1, and column, from 0; the end of text if there is no such line.
func offsetOf(text string, line, column int) int {
	offset := 0
	for ; line > 1; line-- {
		i := strings.IndexByte(text[offset:], '\n')
		if i < 0 {
			return len(text)
		}
		offset += i + 1
	}
	return min(offset+column, len(text))
}

// place is the line and column, both from 1, of a byte.
func place(text string, offset int) (line, column int) {
	before := text[:offset]
	return 1 + strings.Count(before, "\n"), offset - strings.LastIndexByte(before, '\n')
}

// lineOf is the text of a line, from 1, without its end and not longer than width bytes.
func lineOf(text string, line, width int) string {
	rest := text[offsetOf(text, line, 0):]
	rest, _, _ = strings.Cut(rest, "\n")
	if len(rest) > width {
		return rest[:width] + "…"
	}
	return rest
}
