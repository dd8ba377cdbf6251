package stage

import "github.com/stagecraft-go/stagecraft/internal/position"

// A faultCount counts the faults of a source in three classes: warnings, faults that are warnings
// if the options are lenient, and errors. The first 100 of each class are kept. The others are only
// counted, because a fault in each of many documents would make a message larger than the file.
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

// more returns a fault for each class with faults that were only counted.
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

// capped returns the faults of a source. The number of further faults replaces the faults above the
// limit.
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
