package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"golang.org/x/mod/semver"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run does what the arguments ask for and prints what is left to do.
func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	root := flags.String("root", "../../..", "directory of the checkout")
	version := flags.String("version", "", "set this version, such as v0.1.0")
	proxy := flags.String("proxy", "", "with -version: pack into this directory, and leave the checkout as it is")
	dev := flags.Bool("dev", false, "go back to development: "+devVersion+" and replace lines")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := read(*root)
	if err != nil {
		return err
	}
	switch {
	case *dev && *version == "" && *proxy == "":
		return c.develop()
	case *dev || flags.NArg() > 0:
		return fmt.Errorf("want -dev, or -version VERSION with or without -proxy DIR")
	case semver.Canonical(*version) != *version || *version == "":
		return fmt.Errorf("-version %q: want a version such as v0.1.0", *version)
	case semver.Major(*version) != "v0" && semver.Major(*version) != "v1":
		return fmt.Errorf("-version %s: the module paths would have to end in /%s", *version, semver.Major(*version))
	}
	zips, err := c.pack(*version)
	if err != nil {
		return err
	}
	if *proxy != "" {
		return writeProxy(*proxy, *version, zips)
	}
	return c.release(*version, out)
}

// release writes the go.mod and go.sum files that pack prepared, and prints the tags.
func (c *checkout) release(version string, out io.Writer) error {
	if err := c.write(); err != nil {
		return err
	}
	fmt.Fprintln(out, "commit this, then tag and push:")
	for _, m := range c.modules {
		if m.published {
			fmt.Fprintln(out, "  git tag", m.tag(version))
		}
	}
	return nil
}
