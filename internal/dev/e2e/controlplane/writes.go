package controlplane

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Writes returns how often each object was written since its creation, including that, as counted
// by etcd. The count survives restarts of the API server. Keys are paths such as pods/default/web
// that begin with prefix.
func (p *Plane) Writes(prefix string) (map[string]int64, error) {
	const root = "/registry/"
	from := []byte(root + prefix)
	end := bytes.Clone(from)
	end[len(end)-1]++
	body, err := json.Marshal(map[string]any{"key": from, "range_end": end, "keys_only": true})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Kvs []struct {
			Key     string
			Version int64 `json:",string"`
		}
	}
	if err := p.askEtcd("/v3/kv/range", body, &answer); err != nil {
		return nil, err
	}
	writes := map[string]int64{}
	for _, kv := range answer.Kvs {
		key, err := base64.StdEncoding.DecodeString(kv.Key)
		if err != nil {
			return nil, err
		}
		writes[strings.TrimPrefix(string(key), root)] = kv.Version
	}
	return writes, nil
}

// askEtcd sends a request of etcd's API as JSON.
func (p *Plane) askEtcd(path string, body []byte, answer any) error {
	resp, err := http.Post(p.env.ControlPlane.Etcd.URL.JoinPath(path).String(), "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd: %s", resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(answer)
}

// Compact lets etcd forget all versions before the present one.
func (p *Plane) Compact() error {
	var status, compacted struct {
		Header struct {
			Revision int64 `json:",string"`
		}
	}
	if err := p.askEtcd("/v3/maintenance/status", []byte("{}"), &status); err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"revision": fmt.Sprint(status.Header.Revision), "physical": true})
	if err != nil {
		return err
	}
	return p.askEtcd("/v3/kv/compaction", body, &compacted)
}
