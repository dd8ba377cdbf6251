package validation

import (
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The rules of resource.k8s.io are those of resource/validation. CEL expressions of selectors are
// not compiled, and parameters of drivers are not checked.
var (
	deviceClaim  = rules{of("spec", always(deviceSpec))}
	deviceSpec   = rules{of("devices", always(rules{given("requests", each(deviceRequest), uniqueOnce("name")), given("constraints", each(constraint)), given("config", each(deviceConfig), each(rules{of("requests", namesOfRequests)}))}), refsOfRequests)}
	deviceTmpl   = rules{of("spec", always(rules{given("metadata", in(rules{given("labels", labels), given("annotations", annotationsOf)})), of("spec", always(deviceSpec))}))}
	deviceClass  = rules{of("spec", always(rules{given("selectors", each(deviceFilter)), given("config", each(deviceConfig)), given("extendedResourceName", extendedName)}))}
	deviceFilter = rules{of("cel", requiredIfNil)}
	deviceConfig = rules{of("opaque", requiredIfNil, in(rules{of("driver", required, subdomain), of("parameters", requiredIfNil)}))}
	constraint   = rules{of("", matchOrDistinct), given("requests", namesOfRequests), given("matchAttribute", fullyQualified), given("distinctAttribute", fullyQualified)}
	deviceExact  = rules{
		of("deviceClassName", required, subdomain), given("selectors", each(deviceFilter)), of("", countOfMode),
		given("tolerations", each(rules{of("operator", mustBe("Equal", "Exists"))})),
	}
	deviceRequest = rules{
		of("name", strictly(validation.IsDNS1123Label)), of("", exactlyOrFirst), given("exactly", in(deviceExact)),
		given("firstAvailable", each(slices.Concat(rules{of("name", strictly(validation.IsDNS1123Label))}, deviceExact)), uniqueOnce("name")),
	}
)

func exactlyOrFirst(f fieldOf) {
	exactly, first := f.within["exactly"] != nil, len(list(f.within["firstAvailable"])) > 0
	switch {
	case !exactly && !first:
		f.add(field.Required(f.path(), "exactly one of `exactly` or `firstAvailable` is required"))
	case exactly && first:
		f.add(field.Invalid(f.path(), nil, "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"))
	}
}

func countOfMode(f fieldOf) {
	n, _ := f.within["count"].(int64)
	switch mode := text(f.within["allocationMode"]); {
	case mode == "All" && n != 0:
		f.add(field.Invalid(f.path().Child("count"), n, "must not be specified when allocationMode is 'All'"))
	case mode == "ExactCount" && n <= 0:
		f.add(field.Invalid(f.path().Child("count"), n, "must be greater than zero"))
	case mode != "All" && mode != "ExactCount":
		f.add(field.NotSupported(f.path().Child("allocationMode"), mode, []string{"All", "ExactCount"}))
	}
}

// uniqueOnce refuses the second element of a list with the same text in a field, and names the
// element.
func uniqueOnce(name string) check {
	return func(f fieldOf) {
		seen := map[string]bool{}
		for i, v := range list(f.value) {
			m, _ := v.(map[string]any)
			if s := text(m[name]); seen[s] {
				f.add(field.Duplicate(f.path().Index(i), s))
			} else {
				seen[s] = true
			}
		}
	}
}

func namesOfRequests(f fieldOf) { distinct(f) }

// refsOfRequests refuses names of requests that a claim does not have.
func refsOfRequests(f fieldOf) {
	m, _ := f.value.(map[string]any)
	names := map[string]bool{}
	for _, v := range list(m["requests"]) {
		r, _ := v.(map[string]any)
		names[text(r["name"])] = true
		for _, v := range list(r["firstAvailable"]) {
			sub, _ := v.(map[string]any)
			names[text(r["name"])+"/"+text(sub["name"])] = true
		}
	}
	for _, kind := range []string{"constraints", "config"} {
		for i, v := range list(m[kind]) {
			c, _ := v.(map[string]any)
			for j, name := range list(c["requests"]) {
				path := f.path().Child(kind).Index(i).Child("requests").Index(j)
				partsOfRequest(fieldOf{f.faults, path, "", name, c})
				if !names[text(name)] {
					f.add(field.Invalid(path, text(name), "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"))
				}
			}
		}
	}
}

func matchOrDistinct(f fieldOf) {
	if f.within["matchAttribute"] == nil && f.within["distinctAttribute"] == nil {
		f.add(field.Required(f.path(), `exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set`))
	}
}

// fullyQualified is validateFullyQualifiedName of resource/validation.
func fullyQualified(f fieldOf) {
	s := text(f.value)
	domain, name, isQualified := strings.Cut(s, "/")
	switch {
	case !isQualified:
		identifier(f, s)
		f.add(field.Invalid(f.path(), s, "a fully qualified name must be a domain and a name separated by a slash"))
		return
	case strings.Contains(name, "/"): // the server takes it
		return
	case domain == "":
		f.add(field.Invalid(f.path(), "", "the domain must not be empty"))
	default:
		driverName(fieldOf{f.faults, f.path(), "", domain, f.within})
	}
	if name == "" {
		f.add(field.Invalid(f.path(), "", "the name must not be empty"))
		return
	}
	identifier(f, name)
}

func identifier(f fieldOf, id string) {
	const most = 32
	if len(id) > most {
		f.add(field.TooLong(f.path(), "", most))
	}
	for _, message := range validation.IsCIdentifier(id) {
		f.add(field.Invalid(f.path(), id, message))
	}
}

// annotationsOf checks the annotations of a template.
func annotationsOf(f fieldOf) {
	f.list = append(f.list, apivalidation.ValidateAnnotations(texts(f.value), f.path())...)
}

// extendedName is IsExtendedResourceName of core/v1/helper.
func extendedName(f fieldOf) {
	const ofQuota = "requests."
	name := text(f.value)
	isNative := !strings.Contains(name, "/") || strings.Contains(name, "kubernetes.io/")
	if isNative || strings.HasPrefix(name, ofQuota) || len(validation.IsQualifiedName(ofQuota+name)) > 0 {
		f.add(field.Invalid(f.path(), name, "must be a valid extended resource name"))
	}
}

// partsOfRequest checks the name of a request, and of a request below it.
func partsOfRequest(f fieldOf) {
	if parts := strings.Split(text(f.value), "/"); len(parts) <= 2 {
		for _, part := range parts {
			strictly(validation.IsDNS1123Label)(fieldOf{f.faults, f.path(), "", part, f.within})
		}
	}
}
