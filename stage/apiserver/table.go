package apiserver

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/util/jsonpath"
)

// A printColumn is an item of additionalPrinterColumns.
type printColumn struct {
	metav1.TableColumnDefinition
	path *jsonpath.JSONPath
}

// columnsOf returns the columns that a version of a definition has. One whose path cannot be read is
// left out: a kube-apiserver refuses such a definition.
func columnsOf(version map[string]any) (columns []printColumn) {
	given, _, _ := unstructured.NestedSlice(version, "additionalPrinterColumns")
	for _, item := range given {
		c, _ := item.(map[string]any)
		path := jsonpath.New(text(c, "name")).AllowMissingKeys(true)
		if err := path.Parse("{" + text(c, "jsonPath") + "}"); err != nil {
			continue
		}
		priority, _ := c["priority"].(int64)
		columns = append(columns, printColumn{path: path, TableColumnDefinition: metav1.TableColumnDefinition{
			Name: text(c, "name"), Type: text(c, "type"), Format: text(c, "format"), Description: text(c, "description"), Priority: int32(priority)}})
	}
	return columns
}

var (
	nameColumn = metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Description: "Name must be unique within a namespace."}
	ageColumn  = metav1.TableColumnDefinition{Name: "Age", Type: "date", Description: "CreationTimestamp is when the server created this object."}
)

// table returns objects as a Table. Custom kinds have the columns of their definition, all others
// name and age.
func (f form) table(r *resource, items []unstructured.Unstructured) *metav1.Table {
	t := &metav1.Table{TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: f.version}, Rows: []metav1.TableRow{}}
	t.ColumnDefinitions = append(t.ColumnDefinitions, nameColumn)
	for _, c := range r.columns {
		t.ColumnDefinitions = append(t.ColumnDefinitions, c.TableColumnDefinition)
	}
	if len(r.columns) == 0 {
		t.ColumnDefinitions = append(t.ColumnDefinitions, ageColumn)
	}
	for i := range items {
		t.Rows = append(t.Rows, f.row(r, &items[i]))
	}
	return t
}

func (f form) row(r *resource, u *unstructured.Unstructured) metav1.TableRow {
	partial := form{version: f.version}.partial(u)
	row := metav1.TableRow{Object: runtime.RawExtension{Object: partial}, Cells: []any{u.GetName()}}
	for _, c := range r.columns {
		row.Cells = append(row.Cells, c.cell(u))
	}
	if len(r.columns) == 0 {
		row.Cells = append(row.Cells, age(u.GetCreationTimestamp()))
	}
	return row
}

// cell returns what a column shows of an object; nil if there is nothing.
func (c printColumn) cell(u *unstructured.Unstructured) any {
	found, err := c.path.FindResults(u.Object)
	if err != nil || len(found) == 0 || len(found[0]) == 0 {
		return nil
	}
	if c.Type == "string" || c.Type == "date" {
		var out bytes.Buffer
		if err := c.path.PrintResults(&out, found[0]); err != nil {
			return nil
		}
		if c.Type == "date" {
			return ageOf(out.String())
		}
		return out.String()
	}
	return found[0][0].Interface()
}

func ageOf(text string) string {
	t, err := time.Parse(time.RFC3339, strings.TrimSpace(text))
	if err != nil {
		return fmt.Sprintf("<unknown: %s>", text)
	}
	return age(metav1.NewTime(t))
}

// age is the text of the time since t, by the clock of the server.
func age(t metav1.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(t.Time))
}
