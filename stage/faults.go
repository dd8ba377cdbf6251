package stage

import "github.com/stagecraft-go/stagecraft/internal/position"

// A faultCount says how many faults of a source were found: warnings, faults that are warnings if
// the options are lenient, and errors. Of each the first 100 are kept. The others are counted: a
// fault in each of many documents makes a message that nobody reads, larger than its file.
type faultCount [3]int

// keep counts a fault, and reports whether it is kept.
func (c *faultCount) keep(f *Error) bool {
	class := 2
	switch {
	case f.Warning:
		class = 0
	case f.lenient:
		class = 1
	}
	c[class]++
	return c[class] <= position.MaxFaults
}

// more is a fault for each class of which some were only counted.
func (c *faultCount) more(file string) []*Error {
	var faults []*Error
	for class, n := range c {
		if n > position.MaxFaults {
			faults = append(faults, &Error{
				Position: Position{File: file}, Err: position.More(n - position.MaxFaults), Warning: class == 0, lenient: class == 1,
			})
		}
	}
	return faults
}

// capped are the faults of a source, with their number in place of those that are too many.
func capped(faults []*Error) []*Error {
	var count faultCount
	var kept []*Error
	file := ""
	for _, f := range faults {
		if file = f.Position.File; count.keep(f) {
			kept = append(kept, f)
		}
	}
	return append(kept, count.more(file)...)
}
