package lines

import (
	"errors"
	"fmt"
)

// MaxFaults is how many faults of a file are kept. The others are counted: a message with a fault for
// each of many lines would be larger than the file.
const MaxFaults = 100

// FirstFaults are the first [MaxFaults] faults of a file, and the number of the others. The zero
// value has no faults.
type FirstFaults struct {
	kept  []error
	count int
}

// Add adds a fault.
func (f *FirstFaults) Add(err error) {
	if f.count++; f.count <= MaxFaults {
		f.kept = append(f.kept, err)
	}
}

// Len is how many faults were added.
func (f *FirstFaults) Len() int { return f.count }

// Full reports whether further faults are only counted, so that their text does not matter.
func (f *FirstFaults) Full() bool { return f.count >= MaxFaults }

// Err joins the faults and, if there are more than are kept, their number. It returns nil without
// faults.
func (f *FirstFaults) Err() error {
	if f.count <= MaxFaults {
		return errors.Join(f.kept...)
	}
	return errors.Join(append(f.kept[:MaxFaults:MaxFaults], fmt.Errorf("and %d more faults", f.count-MaxFaults))...)
}
