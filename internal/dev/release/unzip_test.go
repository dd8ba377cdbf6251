package main

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unzip returns the files of a packed module by their paths within it.
func unzip(t *testing.T, p packed) map[string]string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(p.zip), int64(len(p.zip)))
	require.NoError(t, err)
	files := map[string]string{}
	for _, f := range r.File {
		in, err := f.Open()
		require.NoError(t, err)
		data, err := io.ReadAll(in)
		require.NoError(t, err)
		files[strings.TrimPrefix(f.Name, p.path+"@v0.1.0/")] = string(data)
	}
	return files
}
