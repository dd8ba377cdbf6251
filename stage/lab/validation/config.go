package validation

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

var (
	settings = rules{of("", keysOnce), given("data", configKeys), given("binaryData", configKeys), of("", notTooLong("data", "binaryData"))}
	secrets  = rules{given("data", configKeys), of("", notTooLong("data")), of("", secretData)}
)

// mostData is how many bytes the values of a ConfigMap or Secret may have.
const mostData = 1 << 20

// configKeys refuses names that no file can have.
func configKeys(f fieldOf) {
	data, _ := f.value.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(data)) {
		for _, fault := range validation.IsConfigMapKey(key) {
			f.add(field.Invalid(f.path().Key(key), key, fault))
		}
	}
}

// keysOnce refuses keys that both fields of a ConfigMap have.
func keysOnce(f fieldOf) {
	data, binary := nested(f.within, "data"), nested(f.within, "binaryData")
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if _, twice := binary[key]; twice {
			f.add(field.Invalid(field.NewPath("data").Key(key), key, "duplicate of key present in binaryData"))
		}
	}
}

// notTooLong bounds the values of fields together. Those of binaryData and of Secrets are base64.
func notTooLong(names ...string) check {
	return func(f fieldOf) {
		total := 0
		for _, name := range names {
			for _, v := range nested(f.within, name) {
				if name == "data" && f.in("ConfigMap") {
					total += len(text(v))
				} else {
					total += base64.StdEncoding.DecodedLen(len(text(v)))
				}
			}
		}
		switch path := field.NewPath("data"); {
		case total <= mostData:
		case f.in("ConfigMap"):
			f.add(field.TooLong(field.NewPath(""), "", mostData))
		default:
			f.add(field.TooLong(path, "", mostData))
		}
	}
}

// secretKeys are the keys that a Secret of a type must have.
var secretKeys = map[string][]string{
	"kubernetes.io/dockercfg":        {".dockercfg"},
	"kubernetes.io/dockerconfigjson": {".dockerconfigjson"},
	"kubernetes.io/ssh-auth":         {"ssh-privatekey"},
	"kubernetes.io/tls":              {"tls.crt", "tls.key"},
}

// secretData checks the data that the type of a Secret requires.
func secretData(f fieldOf) {
	typ, data, path := text(f.within["type"]), nested(f.within, "data"), field.NewPath("data")
	for _, key := range secretKeys[typ] {
		value, is := data[key]
		switch {
		case !is, typ == "kubernetes.io/ssh-auth" && text(value) == "":
			f.add(field.Required(path.Key(key), ""))
		case key[0] == '.':
			checkJSON(f, path.Key(key), text(value))
		}
	}
	switch typ {
	case "kubernetes.io/basic-auth":
		if data["username"] == nil && data["password"] == nil {
			f.add(field.Required(path.Key("username"), ""))
			f.add(field.Required(path.Key("password"), ""))
		}
	case "kubernetes.io/service-account-token":
		const name = "kubernetes.io/service-account.name"
		if text(nested(f.within, "metadata", "annotations")[name]) == "" {
			f.add(field.Required(field.NewPath("metadata", "annotations").Key(name), ""))
		}
	}
}

func checkJSON(f fieldOf, path *field.Path, encoded string) {
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err == nil {
		err = json.Unmarshal(decoded, &map[string]any{})
	}
	if err != nil {
		f.add(field.Invalid(path, "<secret contents redacted>", err.Error()))
	}
}

// immutableConfig refuses changes of a ConfigMap or Secret that says that it never changes.
func immutableConfig(f *faults, before, now map[string]any) {
	if before["immutable"] != true {
		return
	}
	if now["immutable"] != true {
		f.add(field.Forbidden(field.NewPath("immutable"), "field is immutable when `immutable` is set"))
	}
	for _, name := range []string{"data", "binaryData"} {
		if !object.DeepEqual(before[name], now[name]) {
			f.add(field.Forbidden(field.NewPath(name), "field is immutable when `immutable` is set"))
		}
	}
}
