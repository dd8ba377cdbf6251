// Templates prints what a template gets that calls each of the methods named by its arguments, of several values.
package main

import (
	"fmt"
	"os"
	"strings"
	"text/template"
	"time"
)

// A value has a method that no list has.
type value struct{ time.Time }

func (value) Unlisted() string { return "unlisted" }

func main() {
	at := time.Date(2026, 2, 3, 4, 5, 6, 7, time.UTC)
	for _, name := range os.Args[1:] {
		for i, v := range []any{at, &at, at.Month(), at.Weekday(), time.Minute, at.Location(), value{at}} {
			for _, arguments := range []string{"", ` "2006"`, " 1"} {
				var b strings.Builder
				err := template.Must(template.New("t").Parse("{{."+name+arguments+"}}")).Execute(&b, v)
				fmt.Println(name, i, arguments, b.String(), err)
			}
		}
	}
}
