package expr

// Work ranks programs by what an evaluation takes, from little to much.
type Work int

// The ranks of programs.
const (
	Lookup    Work = iota // follows fields, compares
	Search                // goes through lists
	Interpret             // is run by gojq or cel-go
)
