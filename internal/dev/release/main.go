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

// run runs the command line and prints the remaining manual steps.
func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	root := flags.String("root", "../../..", "directory of the checkout")
	core := flags.String("core", "", "version of the core, such as v1.2.0")
	lab := flags.String("lab", "", "with -core: version of the lab, such as v0.3.0; without it the core is released alone")
	proxy := flags.String("proxy", "", "with -core: pack into this directory, and leave the checkout as it is")
	dev := flags.Bool("dev", false, "go back to development: "+devVersion+" and replace lines")
	api := flags.Bool("api", false, "record the API of the checkout in testdata/api, as that of the last version")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := read(*root)
	if err != nil {
		return err
	}
	switch isAlone := *core == "" && *lab == "" && *proxy == "" && flags.NArg() == 0; {
	case *api && !*dev && isAlone:
		return recordAPI(*root)
	case *dev && !*api && isAlone:
		return c.develop()
	case *dev || *api || flags.NArg() > 0:
		return fmt.Errorf("want -dev, -api, or -core VERSION with or without -lab VERSION and -proxy DIR")
	}
	v := versions{"core": *core}
	if *lab != "" {
		v["lab"] = *lab
	}
	if err := v.check(); err != nil {
		return err
	}
	zips, err := c.pack(v)
	if err != nil {
		return err
	}
	if *proxy != "" {
		return writeProxy(*proxy, zips)
	}
	return c.release(v, out)
}

// check refuses a version that the paths of the modules do not allow.
func (v versions) check() error {
	for set, version := range v {
		switch major := semver.Major(version); {
		case semver.Canonical(version) != version || version == "":
			return fmt.Errorf("-%s %q: want a version such as v0.1.0", set, version)
		case major != "v0" && major != "v1":
			return fmt.Errorf("-%s %s: the module paths would have to end in /%s", set, version, major)
		}
	}
	return nil
}

// release writes the go.mod and go.sum files that pack prepared, and prints the tags to make. A tag
// that exists is left out: the modules of its set must be as they were then.
func (c *checkout) release(v versions, out io.Writer) error {
	if err := c.write(); err != nil {
		return err
	}
	fmt.Fprintln(out, "commit this, then tag and push:")
	for _, m := range c.modules {
		if !v.releases(m) {
			continue
		}
		tag := m.tag(v[m.set])
		tagged, err := c.isTagged(m, tag)
		if err != nil {
			return err
		}
		if !tagged {
			fmt.Fprintln(out, "  git tag", tag)
		}
	}
	return nil
}
