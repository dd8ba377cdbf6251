package render

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestValuesShareWordsAndKeepNoText(t *testing.T) {
	text := "name: web\nother: web\naddress: \"10.0.0.1\"\n"
	var words vocabulary
	v, ok := readPlain(text, &words, &words)
	require.True(t, ok)
	again, ok := readPlain(strings.Clone(text), &words, &words)
	require.True(t, ok)
	require.Equal(t, map[string]any{"name": "web", "other": "web", "address": "10.0.0.1"}, v)
	require.Equal(t, v, again)

	first, second := v.(map[string]any), again.(map[string]any)
	require.Same(t, data(first["name"]), data(second["name"]))
	require.Same(t, data(first["name"]), data(first["other"]))
	for key, value := range first {
		for _, part := range []any{key, value} {
			at, begin := uintptr(unsafe.Pointer(data(part))), uintptr(unsafe.Pointer(unsafe.StringData(text)))
			require.False(t, begin <= at && at < begin+uintptr(len(text)), "%s is part of the text", part)
		}
	}
}

func data(v any) *byte { return unsafe.StringData(v.(string)) }

// Of three words at one place the oldest is forgotten, and no value is another. A list within a line keeps no text either.
func TestWordsMayShareTheirPlace(t *testing.T) {
	var words vocabulary
	text := "list: [axxb, ayxb, azxb, \"axxb\", {key: axxb}]\n"
	for range 3 {
		v, ok := readPlain(text, &words, &words)
		require.True(t, ok)
		require.Equal(t, map[string]any{"list": []any{"axxb", "ayxb", "azxb", "axxb", map[string]any{"key": "axxb"}}}, v)
		list := v.(map[string]any)["list"].([]any)
		require.Same(t, data(list[3]), data(list[4].(map[string]any)["key"]))
		at, begin := uintptr(unsafe.Pointer(data(list[0]))), uintptr(unsafe.Pointer(unsafe.StringData(text)))
		require.False(t, begin <= at && at < begin+uintptr(len(text)))
	}
	require.Equal(t, placeOf("axxb"), placeOf("ayxb"))
	require.Empty(t, words.text(""))
}
