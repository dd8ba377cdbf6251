package control

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The names of the labels of a CombinedStatus begin with StatusLabelPrefix; api-group, resource,
// namespace, name and binding-policy follow. ReportNamespace is the namespace of a CombinedStatus
// whose object has none.
const (
	StatusLabelPrefix = "status.kubestellar.io/"
	ReportNamespace   = "kubestellar-report"
)

// StatusCollector says how the statuses of one object in many clusters become a table. It is
// cluster-scoped.
type StatusCollector struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   StatusCollectorSpec   `json:"spec,omitempty"`
	Status StatusCollectorStatus `json:"status,omitempty"`
}

// StatusCollectorSpec is a query, as in SQL, over a table with one row for each destination. Its
// expressions are CEL.
type StatusCollectorSpec struct {
	// Filter drops the rows for which it is not true. Absent: no row is dropped.
	Filter *string `json:"filter,omitempty"`
	// GroupBy and CombinedFields make one row of each group of rows. Select makes one row of each
	// destination; it excludes GroupBy and CombinedFields.
	GroupBy        []NamedExpression `json:"groupBy,omitempty"`
	CombinedFields []NamedAggregator `json:"combinedFields,omitempty"`
	Select         []NamedExpression `json:"select,omitempty"`
	// Limit is the largest number of rows.
	Limit int64 `json:"limit"`
}

// StatusCollectorStatus holds what is wrong with a StatusCollector.
type StatusCollectorStatus struct {
	ObservedGeneration int64    `json:"observedGeneration,omitempty"`
	Errors             []string `json:"errors,omitempty"`
}

// NamedExpression is a column and the expression that computes it.
type NamedExpression struct {
	Name string `json:"name"`
	Def  string `json:"def"`
}

// NamedAggregator is a column that is computed from all rows of a group.
type NamedAggregator struct {
	Name string `json:"name"`
	// Subject is the expression to aggregate. COUNT has none.
	Subject *string `json:"subject,omitempty"`
	// Type is COUNT, SUM, AVG, MIN or MAX.
	Type string `json:"type"`
}

// CombinedStatus holds the tables of one workload object under one BindingPolicy.
type CombinedStatus struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Results []NamedStatusCombination `json:"results,omitempty"`
}

// NamedStatusCombination is the table of one StatusCollector.
type NamedStatusCombination struct {
	Name              string                 `json:"name"`
	ColumnNames       []string               `json:"columnNames"`
	Rows              []StatusCombinationRow `json:"rows,omitempty"`
	RowErrors         []RowError             `json:"rowErrors,omitempty"`
	AggregationErrors []AggregationError     `json:"aggregationErrors,omitempty"`
}

// StatusCombinationRow has a cell for each column.
type StatusCombinationRow struct {
	Columns []Value `json:"columns"`
}

// RowError says why the row of a destination is missing. ColumnName is "" for the filter.
type RowError struct {
	WEC        Destination `json:"wec"`
	ColumnName string      `json:"columnName"`
	Error      string      `json:"error"`
}

// AggregationError says what went wrong in a combined field.
type AggregationError struct {
	ColumnName string `json:"columnName"`
	Error      string `json:"error"`
}

// Value is a cell. Type says which field is set: String, Number, Bool, Object, Array or Null.
type Value struct {
	Type   string  `json:"type"`
	String *string `json:"string,omitempty"`
	// Number is a number in decimal digits; its JSON name is KubeStellar's.
	Number *string `json:"float,omitempty"`
	Bool   *bool   `json:"bool,omitempty"`
	Object *JSON   `json:"object,omitempty"`
	Array  *JSON   `json:"array,omitempty"`
}

// JSON is any JSON value, as text. The zero value is null.
type JSON struct{ Raw []byte }

// MarshalJSON implements json.Marshaler.
func (j JSON) MarshalJSON() ([]byte, error) {
	if len(j.Raw) == 0 {
		return []byte("null"), nil
	}
	return j.Raw, nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (j *JSON) UnmarshalJSON(data []byte) error {
	j.Raw = append([]byte(nil), data...)
	return nil
}
