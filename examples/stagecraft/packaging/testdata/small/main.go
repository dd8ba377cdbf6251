// Small stands in for stagecraft in the test of this module: the whole command takes minutes to build.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

var version = ""

func main() {
	if os.Args[1] == "--version" {
		fmt.Println("stagecraft version " + version)
		return
	}
	dir, err := os.MkdirTemp("", "stagecraft-") // the image has a folder for it
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("export KUBECONFIG=" + filepath.Join(dir, "kubeconfig"))
}
