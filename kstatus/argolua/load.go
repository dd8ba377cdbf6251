package argolua

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// Rules are scripts by kind, for [kstatus.Rules.With].
type Rules = map[schema.GroupKind]kstatus.Rule

const scriptFile = "health.lua"

// Load compiles all files GROUP/KIND/health.lua below a directory, with the default limits. Other
// files are ignored, such as the actions and the tests of Argo CD. The error joins all faults, each
// with its file and line; without any script it says so.
func Load(dir fs.FS) (Rules, error) {
	scripts, err := LoadScripts(dir, Options{})
	if err != nil {
		return nil, err
	}
	rules := Rules{}
	for kind, script := range scripts {
		rules[kind] = script.Rule
	}
	return rules, nil
}

// LoadScripts is [Load] for callers that want the scripts themselves, or other limits.
func LoadScripts(dir fs.FS, o Options) (map[schema.GroupKind]*Script, error) {
	out, faults := map[schema.GroupKind]*Script{}, []error(nil)
	err := fs.WalkDir(dir, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Base(file) != scriptFile {
			return err
		}
		kind, err := kindOf(file)
		if err != nil {
			faults = append(faults, err)
			return nil
		}
		source, err := fs.ReadFile(dir, file)
		if err != nil {
			return err
		}
		script, err := Compile(file, string(source), o)
		if err != nil {
			faults = append(faults, err)
			return nil
		}
		out[kind] = script
		return nil
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("read health scripts: %w", err)
	case len(faults) > 0:
		return nil, errors.Join(faults...)
	case len(out) == 0:
		return nil, fmt.Errorf("there is no script GROUP/KIND/%s", scriptFile)
	}
	return out, nil
}

// kindOf returns the kind of a file, with the wildcards of [kstatus.Rules.With].
func kindOf(file string) (schema.GroupKind, error) {
	parts := strings.Split(path.Dir(file), "/")
	if len(parts) < 2 {
		return schema.GroupKind{}, fmt.Errorf("%s: it is not in a directory GROUP/KIND", file)
	}
	group, kind := parts[len(parts)-2], parts[len(parts)-1]
	if rest, ok := strings.CutPrefix(group, "_"); ok {
		group = "*" + rest
	}
	if kind == "_" {
		kind = "*"
	}
	if strings.Contains(group, "_") || strings.Contains(kind, "_") || group != "*" && strings.HasPrefix(group, "*") && !strings.HasPrefix(group, "*.") {
		return schema.GroupKind{}, fmt.Errorf("%s: an underscore stands for the beginning of a group, as in _.example.com, or for a whole kind", file)
	}
	return schema.GroupKind{Group: group, Kind: kind}, nil
}
