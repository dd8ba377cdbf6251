// Packaging builds the command stagecraft for other machines: static binaries, their checksums, and an OCI
// image from scratch. It needs no container daemon. The same sources and the same Go give the same bytes.
//
//	go run . -out dist                                # all targets and the image
//	go run . -out dist -targets linux/amd64 -version v0.1.0
//
// The folder has a binary for each target, SHA256SUMS, and, with a target for linux, image: an OCI layout
// with an image for each of its processors, and image-ARCH.tar, which docker load and kind load take.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// allTargets are the systems and processors that binaries are built for.
var allTargets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("packaging", flag.ContinueOnError)
	out := flags.String("out", "dist", "a new or empty `folder`")
	source := flags.String("source", "..", "the `folder` of the command")
	version := flags.String("version", "(devel)", "what stagecraft --version says")
	targets := flags.String("targets", strings.Join(allTargets, ","), "system/processor, separated by commas")
	if err := flags.Parse(args); err != nil {
		return err
	}
	list := strings.Split(*targets, ",")
	for _, target := range list {
		if !slices.Contains(allTargets, target) {
			return fmt.Errorf("-targets %s: want some of %s", target, strings.Join(allTargets, ","))
		}
	}
	folder, err := filepath.Abs(*out)
	if err != nil {
		return err
	}
	if files, err := os.ReadDir(folder); err == nil && len(files) > 0 {
		return fmt.Errorf("-out %s: it is not empty", *out)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return pack(*source, folder, *version, list)
}

// pack builds everything into a folder.
func pack(source, folder, version string, targets []string) error {
	tools, err := os.MkdirTemp("", "packaging")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tools)
	template, err := overlay(tools)
	if err != nil {
		return err
	}
	var sums strings.Builder
	binaries := map[string]string{} // of linux, by processor
	for _, target := range targets {
		system, processor, _ := strings.Cut(target, "/")
		name := "stagecraft-" + system + "-" + processor
		if system == "windows" {
			name += ".exe"
		}
		file := filepath.Join(folder, name)
		if err := build(source, file, version, target, template); err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), name)
		fmt.Printf("%-32s %6.1f MB\n", name, float64(len(data))/1e6)
		if system == "linux" {
			binaries[processor] = file
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(sums.String()), 0o644); err != nil {
		return err
	}
	return writeImages(folder, binaries)
}

// build builds one binary. It has no paths, no version control data and no build ID of the machine. It has no pages of gRPC
// about its requests, whose templates would keep methods that the overlay leaves out.
func build(source, file, version, target, overlay string) error {
	system, processor, _ := strings.Cut(target, "/")
	cmd := exec.Command("go", "build", "-overlay", overlay, "-tags", "grpcnotrace", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X main.version="+version, "-o", file, ".")
	cmd.Dir, cmd.Stderr = source, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0")
	return cmd.Run()
}
