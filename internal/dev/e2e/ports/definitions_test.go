package ports

import (
	"archive/zip"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// A published is a definition in a module.
type published struct{ module, version, file string }

var (
	manifestWorks = published{"open-cluster-management.io/api", "v1.2.0", "work/v1/0000_00_work.open-cluster-management.io_manifestworks.crd.yaml"}
	applications  = published{"github.com/argoproj/argo-cd/v3", "v3.5.7", "manifests/crds/application-crd.yaml"}
)

// read reads the definition out of the zip file of its module. Without a proxy and a cache that have the
// module the test is skipped.
func (p published) read(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), "go", "mod", "download", "-json", p.module+"@"+p.version)
	cmd.Dir = os.TempDir() // no module's
	out, err := cmd.Output()
	var answer struct{ Zip, Error string }
	require.NoError(t, json.Unmarshal(out, &answer), "%v", err)
	if answer.Error != "" {
		t.Skip("the module is not here: ", answer.Error)
	}
	archive, err := zip.OpenReader(answer.Zip)
	require.NoError(t, err)
	defer func() { require.NoError(t, archive.Close()) }()
	file, err := archive.Open(p.module + "@" + p.version + "/" + p.file)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	text, err := io.ReadAll(file)
	require.NoError(t, err)
	definition := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal(text, &definition.Object))
	return definition
}
