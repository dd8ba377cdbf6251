package clustertest

import (
	"fmt"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// Field returns a field of an object, or nil without the field.
func (c *Cluster) Field(kind, name string, path ...string) any {
	c.t.Helper()
	v, _, _ := unstructured.NestedFieldNoCopy(c.Get(kind, name).Object, path...)
	return v
}

// Status returns the status of an object as YAML.
func (c *Cluster) Status(kind, name string) string {
	c.t.Helper()
	data, err := yaml.Marshal(c.Get(kind, name).Object["status"])
	require.NoError(c.t, err)
	return string(data)
}

// RequireStatus compares the whole status of an object with YAML.
func (c *Cluster) RequireStatus(kind, name, want string) {
	c.t.Helper()
	require.YAMLEq(c.t, want, c.Status(kind, name), "%s", c.Status(kind, name))
}

// RequireCurrent requires that an object is current by both profiles of package kstatus.
func (c *Cluster) RequireCurrent(kind, name string) {
	c.t.Helper()
	obj := c.Get(kind, name)
	for profile, rules := range map[string]*kstatus.Rules{"standard": kstatus.Standard(), "extended": kstatus.Extended()} {
		result := rules.Compute(obj, c.Now())
		require.Equal(c.t, kstatus.Current, result.Status, "%s %s by %s: %v\n%s", kind, name, profile, result, c.Status(kind, name))
	}
}

// Condition returns a condition of an object, or an empty one without a condition of this type.
func (c *Cluster) Condition(kind, name, condition string) map[string]any {
	c.t.Helper()
	return conditionOf(c.Get(kind, name).Object, condition)
}

// Reason returns the status and the reason of a condition, for example "True Available".
func (c *Cluster) Reason(kind, name, condition string) string {
	c.t.Helper()
	found := c.Condition(kind, name, condition)
	return fmt.Sprint(found["status"], " ", found["reason"])
}

// Message returns the message of a condition.
func (c *Cluster) Message(kind, name, condition string) any {
	c.t.Helper()
	return c.Condition(kind, name, condition)["message"]
}
