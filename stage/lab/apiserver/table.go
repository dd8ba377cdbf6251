package apiserver

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/jsonpath"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// A printColumn is an item of additionalPrinterColumns.
type printColumn struct {
	metav1.TableColumnDefinition
	path *jsonpath.JSONPath
}

// columnsOf returns the columns that a version of a definition has, which are made at the first call.
// One whose path cannot be read is left out: a kube-apiserver refuses such a definition.
func columnsOf(version map[string]any) func() []printColumn {
	return sync.OnceValue(func() (columns []printColumn) {
		given, _ := object.Slice(version, "additionalPrinterColumns")
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
	})
}

var (
	nameColumn = metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Description: "Name must be unique within a namespace."}
	ageColumn  = metav1.TableColumnDefinition{Name: "Age", Type: "date", Description: "CreationTimestamp is when the server created this object."}
)

// A tabulator turns objects of a resource into Tables.
type tabulator struct {
	cells
	form     form
	of       *resource
	wholeRow string // includeObject: None, Metadata or Object
}

// table returns objects as a Table. Custom kinds have the columns of their definition, built-in ones
// those of kube-apiserver; what has neither has name and age.
func (b tabulator) table(items []unstructured.Unstructured) *metav1.Table {
	t := &metav1.Table{TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: b.form.version}, Rows: []metav1.TableRow{}, ColumnDefinitions: b.of.tableColumns()}
	for i := range items {
		t.Rows = append(t.Rows, b.row(&items[i]))
	}
	return t
}

// tableColumns returns the columns of a resource.
func (r *resource) tableColumns() []metav1.TableColumnDefinition {
	if columns := recordedColumns()[r.columnsKey()]; columns != nil {
		return columns
	}
	columns, custom := []metav1.TableColumnDefinition{nameColumn}, r.customColumns()
	for _, c := range custom {
		columns = append(columns, c.TableColumnDefinition)
	}
	if len(custom) == 0 {
		columns = append(columns, ageColumn)
	}
	return columns
}

// customColumns are the columns that a definition adds.
func (r *resource) customColumns() []printColumn {
	if r.columns == nil {
		return nil
	}
	return r.columns()
}

// columnsKey is the name of a resource in columns.json.
func (r *resource) columnsKey() string {
	return strings.TrimSuffix(r.Resource+"."+r.version.Version+"."+r.version.Group, ".")
}

func (b tabulator) row(u *unstructured.Unstructured) metav1.TableRow {
	row := metav1.TableRow{Cells: b.rowCells(u)}
	switch endsInitialEvents := u.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"; {
	case endsInitialEvents && b.wholeRow != string(metav1.IncludeObject):
		row.Object.Object = form{version: b.form.version}.partial(u) // the annotation must arrive
	case b.wholeRow == string(metav1.IncludeNone):
	case b.wholeRow == string(metav1.IncludeObject):
		row.Object.Object = u
	default:
		row.Object.Object = form{version: b.form.version}.partial(u)
	}
	if b.of.kind == pods {
		if p, err := typed(u, "Pod"); err == nil {
			row.Conditions = podConditions(p.(*corev1.Pod))
		}
	}
	return row
}

func (b tabulator) rowCells(u *unstructured.Unstructured) []any {
	switch columns := recordedColumns()[b.of.columnsKey()]; {
	case len(columns) == 2 && columns[1].Name == "Created At":
		return []any{u.GetName(), u.GetCreationTimestamp().UTC().Format(time.RFC3339)}
	case columns != nil:
		return b.cells.of(u)
	}
	row, custom := []any{u.GetName()}, b.of.customColumns()
	for _, c := range custom {
		row = append(row, c.cell(u, b.cells))
	}
	if len(custom) == 0 {
		row = append(row, b.age(u.GetCreationTimestamp()))
	}
	return row
}

// cell returns what a column shows of an object; nil if there is nothing.
func (c printColumn) cell(u *unstructured.Unstructured, clock cells) any {
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
			return clock.ageOf(out.String())
		}
		return out.String()
	}
	return found[0][0].Interface()
}

func (c cells) ageOf(text string) string {
	t, err := time.Parse(time.RFC3339, strings.TrimSpace(text))
	if err != nil {
		return fmt.Sprintf("<unknown: %s>", text)
	}
	return c.age(metav1.NewTime(t))
}
