package validation

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// forms of texts
var (
	label     = form(validation.IsDNS1123Label)
	subdomain = form(validation.IsDNS1123Subdomain)
	qualified = form(validation.IsQualifiedName)
	labelText = form(validation.IsValidLabelValue)
	portName  = form(validation.IsValidPortName)
	address   = strictly(isAddress)
	network   = strictly(isNetwork)
	absolute  = strictly(isAbsolute)
	hostName  = strictly(validation.IsDNS1123Subdomain)
	configKey = form(validation.IsConfigMapKey)
)

func isAbsolute(s string) []string {
	if !strings.HasPrefix(s, "/") {
		return []string{"must be an absolute path"}
	}
	return nil
}

func isAddress(s string) []string {
	if _, err := netip.ParseAddr(s); err != nil {
		return []string{"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"}
	}
	return nil
}

func isNetwork(s string) []string {
	if _, err := netip.ParsePrefix(s); err != nil {
		return []string{"must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"}
	}
	return nil
}

// nonEmptyQualified is qualified, for a text that must not be empty.
func nonEmptyQualified(f fieldOf) {
	for _, message := range validation.IsQualifiedName(text(f.value)) {
		f.add(field.Invalid(f.path(), text(f.value), message))
	}
}

// labels checks a map of labels.
func labels(f fieldOf) {
	m, _ := f.value.(map[string]any)
	if isPlainMap(m) {
		return
	}
	f.list = append(f.list, metavalidation.ValidateLabels(texts(f.value), f.path())...)
}

// isPlainMap reports whether labels are certainly valid.
func isPlainMap(m map[string]any) bool {
	for k, v := range m {
		if s := text(v); !isPlain(k) || s != "" && !isPlain(s) {
			return false
		}
	}
	return true
}

func texts(v any) map[string]string {
	m, _ := v.(map[string]any)
	all := make(map[string]string, len(m))
	for k, e := range m {
		all[k] = text(e)
	}
	return all
}

// selector checks a label selector.
func selector(f fieldOf) {
	if s := selectorOf(f.value); s != nil {
		f.list = append(f.list, metavalidation.ValidateLabelSelector(s, metavalidation.LabelSelectorValidationOptions{}, f.path())...)
	}
}

func selectorOf(v any) *metav1.LabelSelector {
	m, is := v.(map[string]any)
	if !is {
		return nil
	}
	s := &metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, s); err != nil {
		return nil
	}
	return s
}

// port checks the number or the name of a port.
func port(f fieldOf) {
	switch v := f.value.(type) {
	case string:
		for _, message := range validation.IsValidPortName(v) {
			f.add(field.Invalid(f.path(), v, message))
		}
	case int64:
		portNumber(f)
	case nil:
		f.add(field.Invalid(f.path(), 0, "must be between 1 and 65535, inclusive"))
	}
}

// share checks a number that is not negative, or a percentage.
func share(f fieldOf) {
	switch v := f.value.(type) {
	case string:
		for _, message := range validation.IsValidPercent(v) {
			f.add(field.Invalid(f.path(), v, message))
		}
	case int64:
		notNegative(f)
	}
}

// atMostAll refuses a percentage above 100.
func atMostAll(f fieldOf) {
	var n int
	if s := text(f.value); len(validation.IsValidPercent(s)) == 0 {
		if _, err := fmt.Sscanf(s, "%d%%", &n); err == nil && n > 100 {
			f.add(field.Invalid(f.path(), s, "must not be greater than 100%"))
		}
	}
}

// isZeroShare reports whether a number or percentage is zero.
func isZeroShare(v any) bool {
	n, isNumber := v.(int64)
	s, isText := v.(string)
	number, _ := strconv.Atoi(s) // 0 of a text that is neither, as for the server
	return isNumber && n == 0 || isText && (s == "0%" || len(validation.IsValidPercent(s)) > 0 && number == 0)
}

// networks checks one or two networks. At most one may be of each IP family.
func networks(f fieldOf) {
	families := map[bool]int{}
	for i, v := range list(f.value) {
		network(fieldOf{f.faults, f.path().Index(i), "", v, f.within})
		if p, err := netip.ParsePrefix(text(v)); err == nil {
			families[p.Addr().Is4()]++
		}
	}
	switch n := len(list(f.value)); {
	case n == 0:
		f.add(field.Required(f.path(), "at least one CIDR required"))
	case n > 2:
		f.add(field.Invalid(f.path(), f.value, "may only hold up to 2 values"))
	case families[true] > 1 || families[false] > 1:
		f.add(field.Invalid(f.path(), f.value, "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"))
	}
}
