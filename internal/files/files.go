// Package files writes files whole or not at all.
package files

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Write replaces a file by the output of a function. It writes a temporary file in the same
// directory, syncs it and renames it. On an error the old file stays as it was. An existing file
// keeps its permissions, and a symbolic link still points at it. A new file is readable by all, as
// far as the umask allows. Write writes directly to a file that is not regular, such as a pipe or
// /dev/stdout.
func Write(name string, write func(io.Writer) error) error {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		return direct(name, write)
	}
	f, err := create(name, info)
	if err != nil {
		return err
	}
	err = errors.Join(fill(f, write), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// WriteBytes is [Write] of bytes.
func WriteBytes(name string, data []byte) error {
	return Write(name, func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(data))
		return err
	})
}

func direct(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(fill(f, write), f.Close())
}

func fill(f *os.File, write func(io.Writer) error) error {
	b := bufio.NewWriter(f)
	if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}

// create makes a temporary file in the directory of a file, with the permissions of an existing
// file.
func create(name string, old os.FileInfo) (*os.File, error) {
	dir, base := filepath.Split(name)
	temporary := fmt.Sprintf("%s.%s.%016x.tmp", dir, base, rand.Uint64())
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if fault := new(os.PathError); errors.As(err, &fault) {
		fault.Path = name // which the caller knows
	}
	if err != nil || old == nil {
		return f, err
	}
	if err := f.Chmod(old.Mode().Perm()); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(temporary))
	}
	return f, nil
}
