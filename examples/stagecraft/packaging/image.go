package main

import (
	"archive/tar"
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is the user that the image runs as. It has no name and owns nothing.
const user = "65532"

// writeImages writes an image for each binary: archives for docker load, and one OCI layout with all.
func writeImages(folder string, binaries map[string]string) error {
	if len(binaries) == 0 {
		return nil
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, processor := range slices.Sorted(maps.Keys(binaries)) {
		image, err := imageOf(binaries[processor], processor)
		if err != nil {
			return err
		}
		tag, err := name.NewTag("stagecraft:latest")
		if err != nil {
			return err
		}
		if err := tarball.WriteToFile(filepath.Join(folder, "image-"+processor+".tar"), tag, image); err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: processor}}})
	}
	_, err := layout.Write(filepath.Join(folder, "image"), index)
	return err
}

// imageOf returns an image with one layer: the binary, and a folder for temporary files.
func imageOf(binary, processor string) (v1.Image, error) {
	content, err := layerOf(binary)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), layer)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", processor
	config.Config = v1.Config{Entrypoint: []string{"/stagecraft"}, Cmd: []string{"--help"}, User: user + ":" + user, Env: []string{"PATH=/", "HOME=/tmp"}, WorkingDir: "/tmp"}
	return mutate.ConfigFile(image, config)
}

// layerOf returns the files of the image as a tar archive. It has no times, so that it is the same each time.
func layerOf(binary string) ([]byte, error) {
	data, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, file := range []struct {
		tar.Header
		data []byte
	}{
		{tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777}, nil},
		{tar.Header{Name: "stagecraft", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(data))}, data},
	} {
		if err := w.WriteHeader(&file.Header); err != nil {
			return nil, err
		}
		if _, err := w.Write(file.data); err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return archive.Bytes(), err
}
