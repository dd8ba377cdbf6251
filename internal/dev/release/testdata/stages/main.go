// Command stages uses package stage alone.
package main

import "github.com/stagecraft-go/stagecraft/stage"

func main() { _, _ = stage.Compile(stage.Options{}) }
