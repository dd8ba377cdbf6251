package validation

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	claimModes = []string{"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"}
	item       = rules{of("key", required), of("path", required)}
	secret     = rules{of("secretName", required), given("items", each(item))}
	configMap  = rules{of("name", required), given("items", each(item))}
	hostPath   = rules{of("path", required), given("type", mustBe("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"))}
	nfs        = rules{of("server", required), of("path", required, absolute)}
	volume     = rules{
		of("name", required, label),
		given("secret", in(secret)), given("configMap", in(configMap)), given("hostPath", in(hostPath)), given("nfs", in(nfs)),
		given("persistentVolumeClaim", in(rules{of("claimName", required)})),
		given("downwardAPI", downwardFiles),
		given("projected", projectedPaths, in(rules{given("sources", each(rules{given("downwardAPI", downwardFiles)}))})),
		given("ephemeral", in(rules{of("volumeClaimTemplate", required, in(rules{given("spec", in(claimSpec))}))})),
		given("csi", in(rules{of("driver", driverName)})),
	}
	claimSpec = rules{
		given("selector", selector),
		of("accessModes", requiredFor("at least 1 access mode is required"), accessModes),
		of("resources", storageRequest),
		given("storageClassName", subdomain),
		given("volumeMode", mustBe("Block", "Filesystem")),
	}
)

func accessModes(f fieldOf) {
	for _, v := range list(f.value) {
		mustBe(claimModes...)(fieldOf{f.faults, f.path(), "", v, f.within})
	}
}

func storageRequest(f fieldOf) {
	requests := nested(f.within, "resources", "requests")
	q, ok := quantity(requests["storage"])
	switch {
	case !ok:
		f.add(field.Required(f.path().Key("storage"), ""))
	case q.Sign() <= 0:
		f.add(field.Invalid(f.path().Key("storage"), q.String(), "must be greater than zero"))
	}
}

// downwardFiles checks the files of a volume that tell a Pod about itself; the path of a fault has no
// field items.
func downwardFiles(f fieldOf) {
	m, _ := f.value.(map[string]any)
	for _, v := range list(m["items"]) {
		file, _ := v.(map[string]any)
		if text(file["path"]) == "" {
			f.add(field.Required(f.path().Child("path"), ""))
		}
		if file["fieldRef"] == nil && file["resourceFieldRef"] == nil {
			f.add(field.Required(f.path(), "one of fieldRef and resourceFieldRef is required"))
		}
		rules{
			given("fieldRef", in(fieldRef)),
			given("resourceFieldRef", in(rules{of("containerName", required)}), in(resourceRef)),
		}.check(f.faults, f.path(), file)
	}
}

// projectedPaths requires paths in a projected volume, each once.
func projectedPaths(f fieldOf) {
	m, _ := f.value.(map[string]any)
	seen := map[string]bool{}
	for _, s := range list(m["sources"]) {
		source, _ := s.(map[string]any)
		if token, is := source["serviceAccountToken"].(map[string]any); is && text(token["path"]) == "" {
			f.add(field.Required(f.path().Child("path"), ""))
		}
		for _, path := range projected(source) {
			switch {
			case path == "":
				f.add(field.Required(f.path().Child("path"), ""))
			case seen[path]:
				f.add(field.Invalid(f.path(), path, "conflicting duplicate paths"))
			}
			seen[path] = true
		}
	}
}

func projected(source map[string]any) (paths []string) {
	for _, kind := range []string{"secret", "configMap"} {
		for _, v := range list(nested(source, kind)["items"]) {
			m, _ := v.(map[string]any)
			paths = append(paths, text(m["path"]))
		}
	}
	for _, v := range list(nested(source, "downwardAPI")["items"]) {
		m, _ := v.(map[string]any)
		if path := text(m["path"]); path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// persistentVolume are the checks of the spec of a PersistentVolume.
var persistentVolume = rules{
	of("capacity", capacity),
	of("accessModes", required, accessModes),
	of("", oneVolume),
	given("persistentVolumeReclaimPolicy", oneOf("Delete", "Recycle", "Retain")),
	given("storageClassName", subdomain),
	given("volumeMode", mustBe("Block", "Filesystem")),
	given("hostPath", in(hostPath)), given("nfs", in(nfs)),
	given("csi", in(rules{of("driver", driverName), of("volumeHandle", required)})),
	given("nodeAffinity", in(rules{of("required", notNil("must specify required node constraints"), in(nodeSelector))})),
}

// inlineVolume are the checks of a volume that a VolumeAttachment brings: ValidatePersistentVolumeSpec with
// validateInlineSpec.
var inlineVolume = rules{
	of("accessModes", required, accessModes), of("", oneVolume),
	of("csi", notNil("has to be specified in the context of inline volumes"), in(rules{of("driver", driverName), of("volumeHandle", required)})),
	given("claimRef", notInline), given("capacity", notInline), given("nodeAffinity", notInline), given("storageClassName", notInline),
	given("persistentVolumeReclaimPolicy", onlyInline("Retain", "may only be Retain")), given("volumeMode", onlyInline("Filesystem", "may not specify volumeMode other than Filesystem")),
}

const inInlineVolumes = " in the context of inline volumes"

func notInline(f fieldOf) {
	if !isEmpty(f.value) {
		f.add(field.Forbidden(f.path(), "may not be specified"+inInlineVolumes))
	}
}

func onlyInline(value, detail string) check {
	return func(f fieldOf) {
		if s := text(f.value); s != "" && s != value {
			f.add(field.Forbidden(f.path(), detail+inInlineVolumes))
		}
	}
}

func capacity(f fieldOf) {
	m, _ := f.value.(map[string]any)
	q, ok := quantity(m["storage"])
	switch {
	case len(m) == 0:
		f.add(field.Required(f.path(), ""))
		f.add(field.NotSupported(f.path(), m, []string{"storage"}))
	case !ok || len(m) > 1:
		f.add(field.NotSupported(f.path(), m, []string{"storage"}))
	case q.Sign() < 0:
		f.add(field.Invalid(f.path().Key("storage"), q.String(), "must be greater than zero"))
		f.add(field.Invalid(f.path().Key("storage"), q.Value(), "must be a valid resource quantity"))
	case q.IsZero():
		f.add(field.Invalid(f.path().Key("storage"), q.String(), "must be greater than zero"))
	}
}

// volumeSources are the fields of a PersistentVolume that say where it is.
const volumeSources = " awsElasticBlockStore azureDisk azureFile cephfs cinder csi fc flexVolume flocker gcePersistentDisk glusterfs hostPath iscsi local nfs photonPersistentDisk portworxVolume quobyte rbd scaleIO storageos vsphereVolume "

func isVolumeSource(name string) bool { return strings.Contains(volumeSources, " "+name+" ") }

func oneVolume(f fieldOf) {
	n := 0
	for _, name := range sortedKeys(f.within) {
		if !isVolumeSource(name) {
			continue
		}
		if n++; n > 1 {
			f.add(field.Forbidden(f.path().Child(name), "may not specify more than 1 volume type"))
		}
	}
	if n == 0 {
		f.add(field.Required(f.path(), "must specify a volume type"))
	}
}

// isVolume reports whether a volume of a Pod has a name and, where it is projected, files.
func isVolume(m map[string]any) bool {
	f := &faults{}
	volume.check(f, field.NewPath("volume"), m)
	return len(f.list) == 0
}

// driverName is ValidateCSIDriverName of core/validation.
func driverName(f fieldOf) {
	const most = 63
	name := text(f.value)
	if name == "" {
		f.add(field.Required(f.path(), ""))
		return
	}
	if len(name) > most {
		f.add(field.TooLong(f.path(), "", most))
	}
	for _, message := range validation.IsDNS1123Subdomain(strings.ToLower(name)) {
		f.add(field.Invalid(f.path(), name, message))
	}
}
